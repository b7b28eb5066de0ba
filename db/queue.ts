/** The PostgreSQL job queue: a trigger enqueues each job in the transaction that writes its row. */

// @ts-types="@types/pg"
import type { Pool, PoolClient } from "pg";
import postgres from "postgres";
import type { Sql } from "./database.ts";
import { takeLock } from "./migrations.ts";
import { waitAtMost } from "./within.ts";

export const QUEUE_SCHEMA = "gateway_worker";

/** What the queue calls every job: what is to be done is in the row. */
export const QUEUE_TASK = "job";

export class QueueRefused extends Error {
  override name = "QueueRefused";
}

/**
 * Makes what is missing, under the migrations' lock; where nothing is, nothing is made or locked.
 * Where the queue is another one, nothing may pile up here. Whether it was switched on or off by
 * that, which it then is for all instances.
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
      await sql.begin(async (sql) => {
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

/** By itself it makes nothing where nothing is missing, and lets others make the same at once. */
async function migrateQueue(url: string): Promise<void> {
  const { Logger, runMigrations } = await import("graphile-worker");
  // What is wrong with a connection is told by whoever uses it.
  await using connections = await openQueuePool({ url, size: 1, onError() {} });
  await runMigrations({
    pgPool: connections.pool,
    schema: QUEUE_SCHEMA,
    logger: new Logger(() => () => {}),
  });
}

/** What it runs; null where there is none. */
async function findTrigger(sql: Sql): Promise<string | null> {
  const [row] = await sql<[{ body: string }?]>`
    select prosrc as body from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where tgname = 'jobs_carried' and tgrelid = 'gateway.jobs'::regclass`;
  return row?.body ?? null;
}

/** The queue shows its jobs to nobody but their owner, who would else find it empty for ever. */
async function refuseForeignQueue(sql: Sql): Promise<void> {
  const [row] = await sql`
    select row_security_active(${`${QUEUE_SCHEMA}._private_jobs`}::text) as is_foreign`;
  if (!row?.is_foreign) return;
  throw new QueueRefused(
    `The queue (schema ${QUEUE_SCHEMA}) is another role's, of which this one has to be a member.`,
  );
}

/**
 * Entries that were replaced while a process had them that was killed, or had to stop: nobody takes or
 * deletes them any more.
 */
async function deleteDeadEntries(sql: Sql): Promise<void> {
  await sql.unsafe(
    `delete from ${QUEUE_SCHEMA}._private_jobs where attempts >= max_attempts and locked_at is null`,
  );
}

/** How many rows are touched in one statement, each of which the trigger enqueues. */
const BATCH = 500;

/** By the trigger: touched, a job that waits is enqueued as when it was written. */
export async function enqueueAgain(pool: Pool, jobIds: string[]): Promise<void> {
  for (let from = 0; from < jobIds.length; from += BATCH) {
    await pool.query(
      "update gateway.jobs set run_at = run_at where id = any($1::uuid[]) and status = 'queued'",
      [jobIds.slice(from, from + BATCH)],
    );
  }
}

/** What was enqueued is for nobody any more; the jobs themselves are found by the sweep. */
const SWITCH_OFF = `
  drop trigger if exists jobs_carried on gateway.jobs;
  delete from ${QUEUE_SCHEMA}._private_jobs`;

const CALLED = `after insert or update of run_at, status, rank on gateway.jobs
    for each row when (new.status = 'queued')`;

/** When it is called stands in it, too, so that it tells of any change. */
const TRIGGER_BODY = `
  -- ${CALLED.replace(/\s+/g, " ")}
  begin
    perform ${QUEUE_SCHEMA}.add_job(
      '${QUEUE_TASK}',
      json_build_object('job', new.id, 'kind', json_build_object('task', new.task, 'rank', new.rank)),
      run_at => new.run_at, job_key => new.id::text, priority => new.rank);
    return null;
  end `;

/**
 * By its owner's rights: who writes a job needs none on the queue's own tables. The kind of job is
 * made known here, for else the first to write one would keep all others waiting until its commit.
 */
const TRIGGER = `
  create or replace function gateway.carry_job() returns trigger
  language plpgsql security definer set search_path = pg_catalog as $$${TRIGGER_BODY}$$;
  create or replace trigger jobs_carried ${CALLED}
    execute function gateway.carry_job();
  insert into ${QUEUE_SCHEMA}._private_tasks (identifier) values ('${QUEUE_TASK}')
    on conflict do nothing`;

export interface QueuePool extends AsyncDisposable {
  pool: Pool;
  /** Gives up on the connections there are. */
  drop(): void;
}

export interface QueuePoolOptions {
  url: string;
  size: number;
  onError(error: Error): void;
}

/** A connection that is not answered for so long never will be. */
const PATIENCE_MS = 5_000;

/** How long it takes to hang up where the other end may be gone. */
const END_MS = 1_000;

export async function openQueuePool({ url, size, onError }: QueuePoolOptions): Promise<QueuePool> {
  // Only where there is such a queue.
  // @ts-types="@types/pg"
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    connectionString: inLibpqsWords(url),
    max: size,
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
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
    [Symbol.asyncDispose]: () => waitAtMost(END_MS, pool.end()),
  };
}

/** `sslmode=require` asks for no certificate that somebody known has signed; this driver would. */
function inLibpqsWords(url: string): string {
  const address = new URL(url);
  const { searchParams } = address;
  if (searchParams.get("sslmode") === "require") searchParams.set("uselibpqcompat", "true");
  return address.href;
}
