/** The PostgreSQL job queue: a trigger enqueues each job in the transaction that writes its row. */

// @ts-types="@types/pg"
import type { Pool, PoolClient } from "pg";
import postgres from "postgres";
import { waitAtMost } from "../concurrency/deadlines.ts";
import { DatabaseUnavailable, meansLostConnection, runTransaction, type Sql } from "./database.ts";
import { takeLock } from "./migrations.ts";

export const QUEUE_SCHEMA = "gateway_worker";

/** The queue's task name of every job; the row in gateway.jobs says what to do. */
export const QUEUE_TASK = "job";

export class QueueRefused extends Error {
  override name = "QueueRefused";
}

/**
 * Creates or updates the queue's schema and trigger; takes the lock of migrations only if the
 * trigger is missing or outdated. With the KV queue, the trigger is removed, because no worker
 * would read its entries. Returns whether the PostgreSQL queue was switched on or off, which
 * affects all instances.
 */
export async function setUpQueue(url: string, queue: "kv" | "postgres"): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    const body = await findTrigger(sql);
    if (queue === "kv") {
      if (body !== null) await sql.unsafe(SWITCH_OFF);
      return body !== null;
    }
    if (body === TRIGGER_BODY) await migrateQueue(url);
    else {
      await runTransaction(sql, async (sql) => {
        await takeLock(sql);
        await migrateQueue(url);
        await sql.unsafe(TRIGGER);
      });
    }
    await refuseForeignQueue(sql);
    await deleteDeadEntries(sql);
    return body === null;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * The library applies only pending migrations, and several instances may call it at the same time.
 * If it loses its connection, the error is replaced: the caller's transaction has another
 * connection, which is not lost.
 */
async function migrateQueue(url: string): Promise<void> {
  const { Logger, runMigrations } = await import("graphile-worker");
  // Connection errors also reject the statement that runs, which reports them.
  await using connections = await openQueuePool({ url, size: 1, onError() {} });
  await runMigrations({
    pgPool: connections.pool,
    schema: QUEUE_SCHEMA,
    logger: new Logger(() => () => {}),
  }).catch((error) => {
    if (!meansLostConnection(error)) throw error;
    throw new DatabaseUnavailable("The queue could not be migrated", { cause: error });
  });
}

/** The body of the trigger's function; null: there is no trigger. */
async function findTrigger(sql: Sql): Promise<string | null> {
  const [row] = await sql<[{ body: string }?]>`
    select prosrc as body from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where tgname = 'jobs_carried' and tgrelid = 'gateway.jobs'::regclass`;
  return row?.body ?? null;
}

/**
 * Row-level security hides the queue's jobs from other roles, so the queue would always look empty.
 */
async function refuseForeignQueue(sql: Sql): Promise<void> {
  const [row] = await sql`
    select row_security_active(${`${QUEUE_SCHEMA}._private_jobs`}::text) as is_foreign`;
  if (!row?.is_foreign) return;
  throw new QueueRefused(
    `The queue (schema ${QUEUE_SCHEMA}) belongs to another database role. Make this role a ` +
      "member of that role.",
  );
}

/**
 * Deletes entries that were replaced while a worker ran them, if that worker was then killed: the
 * library neither runs nor deletes such entries.
 */
async function deleteDeadEntries(sql: Sql): Promise<void> {
  await sql.unsafe(
    `delete from ${QUEUE_SCHEMA}._private_jobs where attempts >= max_attempts and locked_at is null`,
  );
}

/** How many rows one statement updates; the trigger enqueues each of them. */
const BATCH = 500;

/** Updates the rows of queued jobs without a change, so that the trigger enqueues them again. */
export async function enqueueAgain(pool: Pool, jobIds: string[]): Promise<void> {
  for (let from = 0; from < jobIds.length; from += BATCH) {
    await pool.query(
      "update gateway.jobs set run_at = run_at where id = any($1::uuid[]) and status = 'queued'",
      [jobIds.slice(from, from + BATCH)],
    );
  }
}

/** Also deletes the entries; `sweepJobs` finds the jobs in `gateway.jobs`. */
const SWITCH_OFF = `
  drop trigger if exists jobs_carried on gateway.jobs;
  delete from ${QUEUE_SCHEMA}._private_jobs`;

const TRIGGER_CONDITION = `after insert or update of run_at, status, rank on gateway.jobs
    for each row when (new.status = 'queued')`;

/**
 * The library stores priorities in 16 bits. The lowest value runs first: it is for jobs of rank 0
 * that are not requests. Requests follow by turn. The highest values are for the other ranks.
 * Requests with turns above this range get the same priority, so the library runs them in order of
 * time; for them, only `sweepJobs` follows the turns.
 */
const PRIORITIES = { first: -(2 ** 15), lastRequest: 2 ** 15 - 10 };

/**
 * Contains the condition as a comment, so that the trigger is also replaced if the condition
 * changes.
 */
const TRIGGER_BODY = `
  -- ${TRIGGER_CONDITION.replace(/\s+/g, " ")}
  begin
    perform ${QUEUE_SCHEMA}.add_job(
      '${QUEUE_TASK}',
      json_build_object('job', new.id, 'kind', json_build_object(
        'task', new.task, 'rank', new.rank, 'turn', new.turn, 'user_id', new.user_id)),
      run_at => new.run_at, job_key => new.id::text,
      priority => case when new.rank > 0 then ${PRIORITIES.lastRequest} + new.rank
        else least(${PRIORITIES.first} + new.turn, ${PRIORITIES.lastRequest}) end);
    return null;
  end `;

/**
 * `security definer`: a role that writes jobs needs no rights on the queue's tables. The queue's
 * task name is inserted here, because otherwise the first transaction that enqueues a job would
 * insert it and block all others until its commit. `carry_job` and `jobs_carried` enqueue jobs.
 * They keep the names that they have in existing databases: with new names, those would have two
 * triggers.
 */
const TRIGGER = `
  create or replace function gateway.carry_job() returns trigger
  language plpgsql security definer set search_path = pg_catalog as $$${TRIGGER_BODY}$$;
  create or replace trigger jobs_carried ${TRIGGER_CONDITION}
    execute function gateway.carry_job();
  insert into ${QUEUE_SCHEMA}._private_tasks (identifier) values ('${QUEUE_TASK}')
    on conflict do nothing`;

/** Connections of the `pg` driver, the only one that the queue's library supports. */
export interface QueuePool extends AsyncDisposable {
  pool: Pool;
  /** Closes all connections. */
  drop(): void;
}

export interface QueuePoolOptions {
  url: string;
  size: number;
  onError(error: Error): void;
}

/** A connection without a response for this long is considered dead. */
const RESPONSE_TIMEOUT_MS = 5_000;

/** How long closing may take, since the server may be gone. */
const CLOSE_TIMEOUT_MS = 1_000;

export async function openQueuePool({ url, size, onError }: QueuePoolOptions): Promise<QueuePool> {
  // Loaded only if this queue is used.
  // @ts-types="@types/pg"
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    connectionString: withLibpqSslMode(url),
    max: size,
    connectionTimeoutMillis: RESPONSE_TIMEOUT_MS,
    query_timeout: RESPONSE_TIMEOUT_MS,
    application_name: "payment-gateway queue",
  });
  const clients = new Set<PoolClient>();
  pool.on("error", onError);
  pool.on("connect", (client) => {
    clients.add(client);
    client.on("error", onError);
  });
  pool.on("remove", (client) => clients.delete(client));

  return {
    pool,
    drop() {
      for (const client of clients) client.end().catch(() => {});
      clients.clear();
    },
    [Symbol.asyncDispose]: () => waitAtMost(CLOSE_TIMEOUT_MS, pool.end()),
  };
}

/** With libpq, `sslmode=require` does not verify the certificate; this driver would by default. */
function withLibpqSslMode(url: string): string {
  const parsed = new URL(url);
  const { searchParams } = parsed;
  if (searchParams.get("sslmode") === "require") searchParams.set("uselibpqcompat", "true");
  return parsed.href;
}
