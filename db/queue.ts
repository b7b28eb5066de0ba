/** The queue in PostgreSQL: jobs get there by themselves, in the transaction that writes their row. */

import postgres from "postgres";
import type { Sql } from "./database.ts";
import { takeLock } from "./migrations.ts";
import { openQueuePool } from "./queue_pool.ts";

export const QUEUE_SCHEMA = "gateway_worker";

/** What the queue calls every job: what is to be done is in the row. */
export const QUEUE_TASK = "job";

export class QueueRefused extends Error {
  override name = "QueueRefused";
}

/**
 * Makes what is missing, under the migrations' lock; where nothing is, nothing is made or locked.
 * Where the queue is another one, nothing may pile up here.
 */
export async function setUpQueue(url: string, queue: "kv" | "postgres"): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    const body = await findTrigger(sql);
    if (queue === "kv") {
      if (body !== null) await sql`drop trigger if exists jobs_carried on gateway.jobs`;
      return;
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

const TRIGGER_BODY = `
  begin
    perform ${QUEUE_SCHEMA}.add_job(
      '${QUEUE_TASK}', json_build_object('job', new.id), run_at => new.run_at,
      job_key => new.id::text);
    return null;
  end `;

/**
 * By its owner's rights: who writes a job needs none on the queue's own tables. The kind of job is
 * made known here, for else the first to write one would keep all others waiting until its commit.
 */
const TRIGGER = `
  create or replace function gateway.carry_job() returns trigger
  language plpgsql security definer set search_path = pg_catalog as $$${TRIGGER_BODY}$$;
  create or replace trigger jobs_carried after insert or update of run_at, status on gateway.jobs
    for each row when (new.status = 'queued') execute function gateway.carry_job();
  insert into ${QUEUE_SCHEMA}._private_tasks (identifier) values ('${QUEUE_TASK}')
    on conflict do nothing`;
