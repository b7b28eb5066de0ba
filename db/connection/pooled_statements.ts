/**
 * Statements through a connection pooler. A pooler in transaction mode runs each transaction in any
 * of its sessions. Settings of a session would be lost, so each transaction applies its own
 * settings.
 */

import postgres from "postgres";
import { meansLostConnection } from "./errors.ts";

type Rows = postgres.Row[];

/** Builds the driver's query of a statement; it is sent when it is awaited. */
type Build = (sql: postgres.ISql) => Promise<Rows>;

/** Statements that apply these settings until the end of the transaction. */
export function setLocal(settings: Record<string, string | number>): string {
  return Object.entries(settings)
    .map(([name, value]) => `set local ${name} = '${value}'`).join("; ");
}

/** Runs each statement in its own transaction, which applies these settings first. */
export function pooledSql(
  pool: postgres.Sql,
  settings: Record<string, string | number>,
): postgres.ISql {
  const begin = `begin; ${setLocal(settings)}`;
  const { prepare } = pool.options;
  const statement = (build: Build) =>
    new PooledStatement(build, () => runAlone(pool, begin, build));
  return new Proxy(pool, {
    apply: (target, self, [first, ...values]) =>
      first?.raw
        ? statement((sql) =>
          sql(first as TemplateStringsArray, ...values.map((each) => buildPart(each, sql)))
        )
        : Reflect.apply(target, self, [first, ...values]),
    get: (target, name) =>
      name === "unsafe"
        ? (...args: Parameters<typeof target.unsafe>) =>
          statement((sql) => send(sql, prepare, ...args))
        : Reflect.get(target, name),
  });
}

/** Like the driver's queries: sent when it is awaited, or used as a part of another statement. */
class PooledStatement implements Promise<Rows> {
  readonly [Symbol.toStringTag] = "PooledStatement";
  #result: Promise<Rows> | undefined;

  constructor(readonly build: Build, readonly run: () => Promise<Rows>) {}

  then: Promise<Rows>["then"] = (...args) => this.#send().then(...args);

  catch: Promise<Rows>["catch"] = (...args) => this.#send().catch(...args);

  finally: Promise<Rows>["finally"] = (...args) => this.#send().finally(...args);

  #send(): Promise<Rows> {
    return this.#result ??= this.run();
  }
}

function buildPart(value: unknown, sql: postgres.ISql): never {
  return (value instanceof PooledStatement ? value.build(sql) : value) as never;
}

/**
 * The driver asks the server for the types of the parameters before it sends a statement that is
 * not prepared, which costs a round trip. Texts can be sent without their types. `parameters` is
 * not a documented property of the driver's queries; `tests/db/pooler_test.ts` counts the round
 * trips.
 */
function send(
  sql: postgres.ISql,
  isPrepared: boolean,
  text: string,
  values: readonly unknown[] = [],
  options?: postgres.UnsafeQueryOptions,
): Promise<Rows> {
  const areTexts = values.length > 0 && values.every(isTextOrNull);
  if (isPrepared || !areTexts) return sql.unsafe(text, values as never[], options);
  const query = sql.unsafe(text, [], { simple: false } as postgres.UnsafeQueryOptions);
  return Object.assign(query, {
    parameters: values.map((value) => value instanceof Date ? value.toISOString() : value),
  });
}

function isTextOrNull(value: unknown): boolean {
  return typeof value === "string" || value === null || value instanceof Date;
}

/**
 * The driver sends `begin`, the statement and `commit` together, in one round trip. If the
 * statement fails, the server answers the commit with a rollback. If the connection is lost, it
 * is not released, because the driver would use the closed connection again.
 */
async function runAlone(
  pool: postgres.Sql,
  begin: string,
  build: Build,
): Promise<Rows> {
  const connection = await pool.reserve();
  const outcomes = [connection.unsafe(begin), build(connection), connection.unsafe("commit")].map(
    outcomeOf,
  );
  const errors: unknown[] = [];
  for (const outcome of outcomes) {
    const { error } = await outcome;
    if (meansLostConnection(error)) throw error;
    if (error) errors.push(error);
  }
  connection.release();
  if (errors.length > 0) throw errors[0];
  return (await outcomes[1]!).rows!;
}

interface Outcome {
  rows?: Rows;
  error?: unknown;
}

/** Sends the statement, and resolves with its rows or its error. */
function outcomeOf(statement: Promise<Rows>): Promise<Outcome> {
  return statement.then((rows) => ({ rows }), (error) => ({ error }));
}
