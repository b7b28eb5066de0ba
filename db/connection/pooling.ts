/** Recognizes connection poolers, and compares the databases of two URLs. */

import { randomInt } from "node:crypto";
import { type Client, openClient } from "./client.ts";
import { codeOf } from "./errors.ts";
import { findPrimary } from "./primary.ts";
import { poolSettings } from "./settings.ts";

/**
 * How the connections of a URL become sessions of the server. `none`: there is no pooler, or none
 * that makes a difference. `session`, `transaction`, `statement`: a pooler assigns a session to a
 * client until the client disconnects, for one transaction, or for one statement.
 */
export type Pooling = "none" | "session" | "transaction" | "statement";

export interface ServerInfo {
  pooling: Pooling;
  /** The major version of PostgreSQL. */
  version: number;
}

/** How many transactions are open at the same time to find out whether clients share a session. */
const OPEN_TRANSACTIONS = 3;

/** Throws the error of the driver if the database cannot be reached. */
export async function inspectServer(databaseUrl: string): Promise<ServerInfo> {
  const { url } = await findPrimary(databaseUrl);
  await using client = openClient(url);
  const { announcedPid, pid, version } = await readSession(client);
  if (announcedPid === pid) return { pooling: "none", version };
  const pooling = await findPoolMode(url, client, pid);
  const isTransparent = pooling === "session" && await passesSettings(url);
  return { pooling: isTransparent ? "none" : pooling, version };
}

/**
 * At the start of a connection the server announces the process id of the session, by which the
 * client can cancel statements. A pooler announces its own number, because the session can change.
 */
async function readSession(client: Client) {
  const rows = await client.run(
    `select pg_backend_pid() as pid, current_setting('server_version_num')::int / 10000 as version`,
  );
  const { pid, version } = rows[0]!;
  return { announcedPid: rows.state.pid, pid, version };
}

/**
 * Opens transactions on other connections while `client` is connected. If one of them runs in the
 * session that `client` had, or `client` gets another session, the pooler does not keep sessions.
 */
async function findPoolMode(url: string, client: Client, pid: number): Promise<Pooling> {
  if (!await canBegin(url) && !await canBegin(url)) return "statement";
  await using others = new AsyncDisposableStack();
  for (let i = 0; i < OPEN_TRANSACTIONS; i++) {
    const other = others.use(openClient(url));
    await other.run("begin");
    others.defer(() => rollBack(other));
    const { pid: otherPid } = await readSession(other);
    const { pid: currentPid } = await readSession(client);
    if (otherPid === pid || currentPid !== pid) return "transaction";
  }
  return "session";
}

/**
 * False: the connection was closed when a transaction began: a pooler in statement mode does that.
 * The driver does not report why a connection was closed during a statement, so the caller tries
 * twice.
 */
async function canBegin(url: string): Promise<boolean> {
  await using client = openClient(url);
  await client.run("select 1");
  const error = await client.run("begin").then(() => null, (error) => error);
  if (error && codeOf(error) !== "CONNECTION_CLOSED") throw error;
  if (!error) await rollBack(client);
  return error === null;
}

/** A pooler closes a session in which a client leaves a transaction open. */
async function rollBack(client: Client): Promise<void> {
  await client.run("rollback").catch(() => {});
}

/**
 * Whether settings that are sent as start-up parameters reach the server, as through a proxy that
 * gives each connection a session. Poolers refuse or ignore them.
 */
async function passesSettings(url: string): Promise<boolean> {
  const expected = poolSettings();
  await using client = openClient(url, expected);
  const rows = await client.run("select name, setting from pg_settings").catch((error) => {
    if (!/startup parameter/.test(error.message)) throw error;
    return [];
  });
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]));
  return Object.entries(expected).every(([name, value]) => settings.get(name) === String(value));
}

/**
 * Whether both URLs, which may lead to poolers, lead to the same database of the same server. Takes
 * a lock through one URL and tries to take it through the other. Names and ids prove nothing,
 * because a copy of a database has the same ones.
 */
export async function isSameDatabase(url: string, otherUrl: string): Promise<boolean> {
  await using client = openClient((await findPrimary(url)).url);
  await using other = openClient((await findPrimary(otherUrl)).url);
  const lock = `select pg_try_advisory_xact_lock(${randomInt(2 ** 47)}) as was_free`;
  await client.run("begin");
  await client.run(lock);
  const [row] = await other.run(lock);
  await client.run("rollback");
  return !row!.was_free;
}
