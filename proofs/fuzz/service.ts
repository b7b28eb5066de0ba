/** The service of a run: the embedded default in a temporary folder, with keys of each role. */

import { readLayout } from "../../db/embedded/layout.ts";
import { findServer } from "../../db/embedded/server.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import { preparedFolder, type ServiceProcess, startService } from "../../tests/support/service.ts";
import { until } from "../../tests/support/until.ts";
import { findAllContradictions } from "../contradictions.ts";
import type { Memory } from "./report.ts";
import type { Role } from "./requests.ts";
import type { Sender } from "./send.ts";

export interface FuzzedService extends Sender, AsyncDisposable {
  /** The URL of the sandbox. */
  sandbox: string;
  userOf(role: Role): string | null;
  /** A URL that accepts webhooks. */
  receiver: string;
  /** By event, how many errors the service has logged, and the first of each. */
  loggedErrors: Map<string, { count: number; first: string }>;
  readMemory(): Promise<Memory>;
  /** Descriptions of records that contradict what is always true. */
  findContradictions(): Promise<string[]>;
}

const USERS: Partial<Record<Role, string>> = { user: "fuzz-buyer-one", other: "fuzz-buyer-two" };

const NO_LIMIT = "1000000";

/** A key that no service has. */
const INVALID_KEY = `gk_${"x".repeat(43)}`;

export async function startFuzzedService(): Promise<FuzzedService> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await preparedFolder());
  const loggedErrors: FuzzedService["loggedErrors"] = new Map();
  const service = started.use(
    await startService({
      settings: {
        DATA_DIR: folder.path,
        RATE_LIMIT_PER_SECOND: NO_LIMIT,
        RATE_LIMIT_BURST: NO_LIMIT,
        STREAMS_PER_CALLER: "1000",
      },
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
  const keys = await createKeys(service);
  const resources = started.move();
  return {
    url: service.url,
    sandbox: service.sandbox,
    keys,
    receiver: `http://127.0.0.1:${receiver.addr.port}/webhooks`,
    userOf: (role) => USERS[role] ?? null,
    loggedErrors,
    async readMemory() {
      const { text } = await service.get("/metrics/", keys.staff!);
      const bytes = (kind: string) =>
        Number(text.match(new RegExp(`^payment_gateway_memory_${kind}_bytes (\\S+)`, "m"))?.[1]);
      return { resident: bytes("resident"), heap: bytes("heap") };
    },
    async findContradictions() {
      const url = await findServer((await readLayout(folder.path))!);
      return await findAllContradictions(url!);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function createKeys(service: ServiceProcess): Promise<FuzzedService["keys"]> {
  const { staff } = service.keys;
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

/** Reads the log line by line, and keeps only the first error of each event. */
function createLogReader(errors: FuzzedService["loggedErrors"]): (text: string) => void {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (!line.includes('"level":"error"')) continue;
      const event = line.match(/"event":"(\w+)"/)?.[1] ?? "unknown";
      const known = errors.get(event);
      if (known) known.count++;
      else errors.set(event, { count: 1, first: line });
    }
  };
}
