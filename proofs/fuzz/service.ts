/**
 * The service of a run, with keys of each role, its database in a temporary folder, and the sandbox
 * as a separate process.
 */

import { readLayout } from "../../db/embedded/layout.ts";
import { findServer } from "../../db/embedded/server.ts";
import { generateApiKey } from "../../core/secrets/api_key.ts";
import { DEFAULT_KEYS } from "../../sandbox/sandbox.ts";
import { freePort } from "../../tests/support/free_port.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import {
  mainCommand,
  preparedFolder,
  type ServiceProcess,
  startService,
} from "../../tests/support/service.ts";
import { until } from "../../tests/support/until.ts";
import { findAllContradictions } from "../contradictions.ts";
import { createLineReader, errorEventOf } from "../log_lines.ts";
import { readMemory, WITH_MEMORY_SERVER } from "./memory.ts";
import type { MemorySample } from "./report.ts";
import { type Role, SERVER_KEY } from "./requests.ts";
import { startSandboxProcess } from "./sandbox.ts";
import type { Sender } from "./send.ts";

export interface FuzzedService extends Sender, AsyncDisposable {
  /** The URL of the sandbox. */
  sandbox: string;
  /** The keys of the gateway, which no response may contain. */
  gatewayKeys: readonly string[];
  userOf(role: Role): string | null;
  /** A URL that accepts webhooks. */
  receiver: string;
  /** By event, how many errors the service has logged, and the first of each. */
  loggedErrors: Map<string, { count: number; first: string }>;
  readMemory(): Promise<MemorySample>;
  /** Descriptions of records that contradict what is always true. */
  findContradictions(): Promise<string[]>;
}

const USERS: Partial<Record<Role, string>> = { user: "fuzz-buyer-one", other: "fuzz-buyer-two" };

const NO_LIMIT = "1000000";

/**
 * The error if the database does not respond in time. On a busy machine, that is no fault of the
 * service: callers get 503.
 */
export const NO_DATABASE = "DatabaseUnavailable";

/** The line about repeated errors of requests has only their code. */
const MEANS_NO_DATABASE = /"name":"DatabaseUnavailable"|"code":"unavailable"/;

/** A key that no service has. */
const INVALID_KEY = `gk_${"x".repeat(43)}`;

export async function startFuzzedService(): Promise<FuzzedService> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await preparedFolder());
  const loggedErrors: FuzzedService["loggedErrors"] = new Map();
  const port = freePort();
  const sandbox = started.use(
    await startSandboxProcess({
      folder: folder.path,
      notify: `http://127.0.0.1:${port}/notification/`,
      onError: (line) => countError(loggedErrors, "sandbox_error", line),
    }),
  );
  const settings = {
    HOST: "127.0.0.1",
    PORT: `${port}`,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    DATA_DIR: folder.path,
    GATEWAY_BASE_URL: sandbox.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
    GATEWAY_CLIENT_KEY: DEFAULT_KEYS.client,
    BOOTSTRAP_STAFF_KEY: generateApiKey(),
    WEBHOOK_ALLOW_PRIVATE: "true",
    RATE_LIMIT_PER_SECOND: NO_LIMIT,
    RATE_LIMIT_BURST: NO_LIMIT,
    STREAMS_PER_CALLER: "1000",
  };
  const [deno, run, ...args] = await mainCommand(settings, { hasOwnDeadline: true });
  const service = started.use(
    await startService({
      settings,
      command: [deno!, run!, ...WITH_MEMORY_SERVER, ...args],
      onLog: createLogReader(loggedErrors),
    }),
  );
  const receiver = started.use(
    Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request) => {
        await request.body?.cancel();
        return new Response();
      },
    ),
  );
  const keys = await createKeys(service, settings.BOOTSTRAP_STAFF_KEY);
  const resources = started.move();
  return {
    url: service.url,
    sandbox: sandbox.url,
    gatewayKeys: [SERVER_KEY],
    keys,
    receiver: `http://127.0.0.1:${receiver.addr.port}/webhooks`,
    userOf: (role) => USERS[role] ?? null,
    loggedErrors,
    readMemory: async () => ({
      service: await readMemory(service.output),
      sandbox: await readMemory(sandbox.output),
    }),
    async findContradictions() {
      const url = await findServer((await readLayout(folder.path))!);
      return await findAllContradictions(url!);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function createKeys(
  service: ServiceProcess,
  staff: string,
): Promise<FuzzedService["keys"]> {
  const headers = { Authorization: `Bearer ${staff}`, "Content-Type": "application/json" };
  async function create(body: Json): Promise<Json> {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return await (await fetch(`${service.url}/keys/`, init)).json();
  }
  const revoked = await create({ user_id: USERS.user });
  await fetch(`${service.url}/keys/${revoked.prefix}/`, { method: "DELETE", headers });
  await until(
    "the key is revoked",
    async () => (await service.get("/me/", revoked.key)).status === 401,
  );
  return {
    none: null,
    invalid: INVALID_KEY,
    revoked: revoked.key,
    user: (await create({ user_id: USERS.user })).key,
    other: (await create({ user_id: USERS.other })).key,
    viewer: (await create({ user_id: "fuzz-auditor", role: "viewer" })).key,
    staff,
  };
}

/** Keeps only the first error of each event. */
function createLogReader(errors: FuzzedService["loggedErrors"]): (text: string) => void {
  return createLineReader((line) => {
    const event = errorEventOf(line);
    if (event === null) return;
    countError(errors, MEANS_NO_DATABASE.test(line) ? NO_DATABASE : event, line);
  });
}

function countError(errors: FuzzedService["loggedErrors"], event: string, line: string): void {
  const known = errors.get(event);
  if (known) known.count++;
  else errors.set(event, { count: 1, first: line });
}
