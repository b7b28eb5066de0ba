/** The app in a test: the real thing on a real database, without a port. */

import { createKey, type KeyOwner } from "../../core/auth/manage_keys.ts";
import { type Config, parseConfig } from "../../core/config.ts";
import { createGatewayClient, type GatewayClient } from "../../core/gateway/client.ts";
import { logExchanges } from "../../core/gateway/exchange_log.ts";
import { createLog } from "../../core/log.ts";
import { type Database, openDatabase } from "../../db/database.ts";
import { loadMigrations, type Migration } from "../../db/migrations.ts";
import { type App, createApp } from "../../routes/app.ts";
import type { Router } from "../../routes/router.ts";

export interface TestAppOptions {
  databaseUrl: string;
  /** Settings as in the environment; without them it is an installation with a gateway of its own. */
  env?: Record<string, string>;
  /** Where the gateway is; nowhere unless given. */
  gatewayUrl?: string;
  resources?: Router[];
  migrations?: Migration[];
  now?: () => number;
  isDraining?: () => boolean;
  wrapDatabase?: (database: Database) => Database;
}

export interface TestApp extends App, AsyncDisposable {
  config: Config;
  database: Database;
  gateway: GatewayClient;
  /** What was logged so far, line by line. */
  logged(): Record<string, unknown>[];
  createKey(owner?: Partial<KeyOwner>): Promise<string>;
  /** Asks as the owner of a key. */
  as(key: string, path: string, init?: RequestInit): Promise<Response>;
}

export const REAL_INSTALLATION = {
  DATABASE_URL: "postgres://somewhere/else",
  GATEWAY_SERVER_KEY: "Mid-server-of-the-tests",
};

/** Nothing listens on a port that low; `fetch` refuses to try some of them, but not this one. */
const NOWHERE = "http://127.0.0.1:2";

export async function openApp(options: TestAppOptions): Promise<TestApp> {
  const config = parseConfig(options.env ?? REAL_INSTALLATION, "/nowhere");
  const opened = openDatabase({ url: options.databaseUrl, poolSize: 4 });
  const database = options.wrapDatabase?.(opened) ?? opened;
  let text = "";
  const log = createLog((lines) => text += lines);
  const gateway = createGatewayClient({
    ...config.gateway,
    baseUrl: options.gatewayUrl ?? NOWHERE,
    onExchange: config.logGateway ? logExchanges(log) : undefined,
  });
  const app = createApp({
    config,
    database,
    gateway,
    migrations: options.migrations ?? await loadMigrations(),
    log,
    clock: options.now ?? Date.now,
    isDraining: options.isDraining ?? (() => false),
    developmentKey: null,
    resources: options.resources,
  });
  return {
    ...app,
    config,
    database,
    gateway,
    logged() {
      log.flush();
      return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    },
    createKey: (owner) =>
      createKey(opened, { userId: "alice", isStaff: false, name: null, ...owner }),
    as: (key, path, init = {}) =>
      app.request(path, { ...init, headers: bearer(key, new Headers(init.headers)) }),
    async [Symbol.asyncDispose]() {
      log.flush();
      await opened.close();
    },
  };
}

function bearer(key: string, headers: Headers): Headers {
  headers.set("Authorization", `Bearer ${key}`);
  return headers;
}
