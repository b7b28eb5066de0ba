/** Waits for the database, and finds out whether connections lead through a pooler. */

import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { codeOf, meansConnectionLimit } from "../db/connection/errors.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../db/connection/database.ts";
import { MigrationRefused, refuseOldServer } from "../db/migrations/migrate.ts";
import { inspectServer, isSameDatabase, type ServerInfo } from "../db/connection/pooling.ts";
import { withoutSecrets } from "../db/connection/server_urls.ts";
import { Failure, printStatus } from "./terminal.ts";

export interface DatabaseAccess {
  /** For statements and transactions. */
  url: string;
  /** The mode of the connection pooler that `url` leads to; `none` without a pooler. */
  pooling: DatabaseOptions["pooling"];
  /**
   * For migrations, LISTEN, locks and the job queue. Each connection has its own session at the
   * server. The same as `url`, unless DATABASE_DIRECT_URL is set.
   */
  directUrl: string;
}

/** How long to wait for the database, which often starts together with the service, but slower. */
const CONNECT_TIMEOUT_MS = 30_000;

const POLL_MS = 500;

export async function reachDatabase(
  url: string,
  directUrl: string | null,
  timeoutMs = CONNECT_TIMEOUT_MS,
): Promise<DatabaseAccess> {
  const { pooling } = await waitForServer(url, "DATABASE_URL", timeoutMs);
  if (pooling === "statement") {
    throw new Failure(
      `DATABASE_URL leads to a connection pooler in statement mode (${
        withoutSecrets(url)
      }), which ` +
        "does not allow transactions. Set the pooler to transaction mode or session mode.",
    );
  }
  if (directUrl !== null) {
    await requireDirect(directUrl, url, timeoutMs);
    return { url, pooling, directUrl };
  }
  if (pooling === "transaction") {
    throw new Failure(
      `DATABASE_URL leads to a connection pooler in transaction mode (${
        withoutSecrets(url)
      }), and ` +
        "DATABASE_DIRECT_URL is missing. Set it to the URL of the same database without the pooler: " +
        "migrations, LISTEN and locks need sessions of their own.",
    );
  }
  return { url, pooling, directUrl: url };
}

async function requireDirect(directUrl: string, url: string, timeoutMs: number): Promise<void> {
  const { pooling, version } = await waitForServer(directUrl, "DATABASE_DIRECT_URL", timeoutMs);
  const address = withoutSecrets(directUrl);
  if (pooling === "transaction" || pooling === "statement") {
    throw new Failure(
      `DATABASE_DIRECT_URL leads to a connection pooler in ${pooling} mode (${address}). Set it to ` +
        "the URL of the database server itself, or of a pooler in session mode.",
    );
  }
  try {
    refuseOldServer(version);
  } catch (error) {
    if (!(error instanceof MigrationRefused)) throw error;
    throw new Failure(`${error.message} Check DATABASE_DIRECT_URL (${address}).`);
  }
  if (await isSameDatabase(url, directUrl)) return;
  throw new Failure(
    `DATABASE_DIRECT_URL (${address}) leads to another database than DATABASE_URL ` +
      `(${withoutSecrets(url)}). Set both to the same database of the same server.`,
  );
}

async function waitForServer(
  url: string,
  setting: string,
  timeoutMs: number,
): Promise<ServerInfo> {
  const deadline = Date.now() + timeoutMs;
  let announced = "";
  for (;;) {
    const found = await inspectServer(url).catch((error: Error) => error);
    if (!(found instanceof Error)) return found;
    const { message } = found;
    const isUntrusted = UNTRUSTED.test(codeOf(found));
    const isLate = Date.now() > deadline && !meansConnectionLimit(found);
    if (isUntrusted || isRejection(found) || isLate) {
      const advice = isUntrusted
        ? "Set DENO_CERT to a file with the certificate of the authority that signed the server's " +
          "certificate (PEM)."
        : `Check ${setting}.`;
      throw new Failure(
        `Could not connect to the database at ${withoutSecrets(url)}: ${message}. ${advice}`,
      );
    }
    // The cause can change, for example when a server that refused connections is starting.
    if (message !== announced) {
      printStatus(`Waiting for the database at ${withoutSecrets(url)} (${message})`);
    }
    announced = message;
    await delay(POLL_MS);
  }
}

/** Codes of TLS errors: Deno does not know the authority that signed the server's certificate. */
const UNTRUSTED = /SELF_SIGNED|ISSUER|LEAF_SIGNATURE/;

/**
 * Repeats `connect` while the server allows no more connections: for example, until the instances
 * of the previous deployment have ended. Starting again would not help.
 */
export async function waitAtConnectionLimit<T>(connect: () => Promise<T>): Promise<T> {
  for (let isAnnounced = false;; isAnnounced = true) {
    try {
      return await connect();
    } catch (error) {
      if (!meansConnectionLimit(error)) throw error;
      if (!isAnnounced) printStatus("Waiting for the database, which allows no more connections");
      await delay(POLL_MS);
    }
  }
}

/** Opens the pool, and waits for its first connection if the server allows no more connections. */
export async function openPool(options: DatabaseOptions): Promise<Database> {
  const database = openDatabase(options);
  await waitAtConnectionLimit(() => database.query((sql) => sql`select 1`));
  return database;
}

/** Errors that a server or pooler reports while it starts, stops or is full. */
const TEMPORARY = /^(08|53|57)/;

/** A wrong password, database name or parameter, which waiting cannot fix. */
function isRejection(error: Error): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  return !TEMPORARY.test(codeOf(error)) || /startup parameter/.test(error.message);
}
