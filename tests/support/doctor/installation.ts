/** An installation for the doctor: a service with a sandbox, behind nginx. */

import type { DescribedResult } from "../../../core/doctor/render.ts";
import { SCHEDULE } from "../../../core/tasks/schedule.ts";
import { openApp, type TestApp } from "../app.ts";
import { runInProcess } from "../commands.ts";
import { createDatabase } from "../database/database.ts";
import { freePort } from "../free_port.ts";
import { openSandbox, type TestSandbox } from "../gateway/sandbox.ts";
import { type Outcome, runCommand } from "../service.ts";
import { createCertificate, FORWARD, startNginx } from "../nginx.ts";

export const SERVER_KEY = "SB-Mid-server-of-the-doctor-tests";

export interface InstallationOptions {
  /** The server block of nginx; by default that of a healthy proxy. Null: there is no proxy. */
  server?: string | null;
  /** The validity of the certificate; by default there is no TLS. */
  certificateDays?: number;
  /** The address of the gateway; by default the sandbox's. */
  gatewayUrl?: (sandbox: TestSandbox) => string;
  databaseUrl?: string;
  settings?: Record<string, string>;
}

export interface Installation extends AsyncDisposable {
  app: TestApp;
  sandbox: TestSandbox;
  databaseUrl: string;
  settings: Record<string, string>;
  /** Runs the command in the process of the test. */
  run(...args: string[]): Promise<Outcome>;
  /** The results of the command, with changed settings; null: not set. */
  examine(settings?: Record<string, string | null>): Promise<DescribedResult[]>;
  /** Like `examine`, in a process that trusts the authority of the certificate. */
  examineInProcess(): Promise<DescribedResult[]>;
}

export const HEALTHY = `client_max_body_size 1m; location / { proxy_pass TARGET; ${FORWARD} }`;

export async function openInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const { server = HEALTHY, certificateDays } = options;
  await using opened = new AsyncDisposableStack();
  const databaseUrl = options.databaseUrl ?? await createDatabase();
  const sandbox = opened.use(await openSandbox({ seed: undefined, serverKey: SERVER_KEY }));
  const folder = await Deno.makeTempDir({ prefix: "doctor-" });
  opened.defer(() => Deno.remove(folder, { recursive: true }));
  await Deno.writeTextFile(`${folder}/backup.time`, "");
  const certificate = certificateDays === undefined
    ? undefined
    : await createCertificate(folder, certificateDays);
  const port = freePort();
  const gatewayUrl = options.gatewayUrl?.(sandbox) ?? sandbox.url;
  const settings = {
    DATABASE_URL: databaseUrl,
    GATEWAY_SERVER_KEY: SERVER_KEY,
    GATEWAY_BASE_URL: gatewayUrl,
    PUBLIC_URL: `${certificate ? "https" : "http"}://127.0.0.1:${port}`,
    BACKUP_TIME_FILE: `${folder}/backup.time`,
    WEBHOOK_ALLOW_PRIVATE: "true",
    ...options.settings,
  };
  const app = opened.use(
    await openApp({ databaseUrl, gatewayUrl, env: settings, bindsAccount: true }),
  );
  const listening = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const http = Deno.serve(
    listening,
    (request, { remoteAddr }) => app.fetchUnchecked(request, { remoteAddr } as never),
  );
  opened.defer(() => http.shutdown());
  // Streams would keep the server open.
  opened.defer(() => app.streams.close());
  const target = `http://127.0.0.1:${http.addr.port}`;
  if (server !== null) opened.use(await startNginx({ port, server, target, certificate }));
  await runSchedule(app);
  const owned = opened.move();
  const parse = ({ stdout }: Outcome) => JSON.parse(stdout).results as DescribedResult[];
  return {
    app,
    sandbox,
    databaseUrl,
    settings,
    run: (...args) => runInProcess(["doctor", ...args], settings),
    async examine(more = {}) {
      const changed = Object.entries({ ...settings, ...more }).filter(([, value]) =>
        value !== null
      );
      return parse(await runInProcess(["doctor", "--json"], Object.fromEntries(changed)));
    },
    examineInProcess: async () =>
      parse(
        await runCommand(["doctor", "--json"], { ...settings, DENO_CERT: certificate!.authority }),
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Stores that every scheduled task has run `minutesAgo`: the app of a test has no schedule. */
export async function runSchedule({ database }: TestApp, minutesAgo = 0): Promise<void> {
  const at = new Date(Date.now() - minutesAgo * 60_000);
  const rows = SCHEDULE.map(({ name }) => ({
    task: name,
    minute: at,
    started_at: at,
    finished_at: at,
  }));
  await database.query((sql) => sql`delete from gateway.cron_runs`);
  await database.query((sql) => sql`insert into gateway.cron_runs ${sql(rows)}`);
}

/** What is neither ok nor untested, as `check status finding`. */
export function complaints(results: DescribedResult[]): string[] {
  return results.filter(({ status }) => status === "fault" || status === "warning")
    .map(({ check, status, finding }) => `${check} ${status} ${finding}`);
}

export function untested(results: DescribedResult[]): string[] {
  return results.filter(({ status }) => status === "not_tested").map(({ check }) => check);
}
