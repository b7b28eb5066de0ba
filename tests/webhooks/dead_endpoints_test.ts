import assert from "node:assert/strict";
import { createWorker } from "../../core/jobs/worker.ts";
import { createTasks } from "../../core/tasks/tasks.ts";
import type { Database } from "../../db/connection/database.ts";
import type { ReceiverAnswer } from "../support/events/webhook_receiver.ts";
import { openWebhooks } from "../support/events/webhooks.ts";

/** How many statements of delivery jobs may run at the same time. */
const MAX_STATEMENTS = 3;

/** The statements of a delivery job and of the worker that runs it, except batched ones. */
const STATEMENTS = [
  "claim jobs",
  "find running delivery",
  "find endpoint",
  "find due deliveries",
  "store health of endpoint",
  "release job",
];

/**
 * Counts the statements of delivery jobs that run at the same time; `most` is the highest count.
 */
function countStatements() {
  const counts = { running: 0, most: 0 };
  async function counted<T>(run: () => Promise<T>, name = ""): Promise<T> {
    if (!STATEMENTS.includes(name)) return await run();
    counts.most = Math.max(counts.most, ++counts.running);
    try {
      return await run();
    } finally {
      counts.running--;
    }
  }
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: (work, name) => counted(() => database.query(work, name), name),
    transaction: (work, name) => counted(() => database.transaction(work, name), name),
  });
  return { counts, wrapDatabase };
}

const WORKERS = 8;

const ENDPOINTS = 60;

/**
 * The answers of the endpoints, by path. Those that hang close their connections when all workers
 * wait for them, or when no other endpoint has to answer. A time limit would have to be short, and
 * on a slow machine the other endpoints would exceed it.
 */
function createAnswers(): (path: string) => Promise<ReceiverAnswer> {
  let others = ENDPOINTS * 2 / 3;
  let hanging: (() => void)[] = [];
  function releaseIfStuck() {
    if (hanging.length < WORKERS && others > 0) return;
    for (const release of hanging) release();
    hanging = [];
  }
  return async (path) => {
    if (!path.endsWith("/hangs")) {
      others--;
      releaseIfStuck();
      return { status: path.endsWith("/fails") ? 503 : 200 };
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    hanging.push(resolve);
    releaseIfStuck();
    await promise;
    return "close";
  };
}

Deno.test("webhook delivery: many dead endpoints leave database connections free for other work", async () => {
  const { counts, wrapDatabase } = countStatements();
  await using webhooks = await openWebhooks({ wrapDatabase });
  const { receiver, app } = webhooks;
  const answerTo = createAnswers();
  receiver.answer(({ path }) => answerTo(path));
  const ids: string[] = [];
  for (let index = 0; index < ENDPOINTS; index++) {
    // A third responds 503, a third does not respond, and a third is healthy.
    const path = ["fails", "hangs", "healthy"][index % 3]!;
    ids.push((await webhooks.endpoint({ url: `${receiver.url}/${path}` })).id);
  }
  await webhooks.charge("gopay");
  counts.most = 0;
  await webhooks.queueDeliveries();
  const worker = createWorker({
    ...app.service,
    tasks: createTasks(app.service, app.handlers),
    maxRunning: WORKERS,
  });
  await worker.runDue(10 * 60_000);
  assert.equal(counts.most, MAX_STATEMENTS);
  const rows = await app.database.query((sql) =>
    sql<{ status: string; count: number }[]>`
      select status, count(*)::integer as count from gateway.webhook_deliveries
      where attempts > 0 group by status order by status`
  );
  assert.deepEqual(rows.map(({ status, count }) => [status, count]), [
    ["delivered", 20],
    ["pending", 40],
  ]);
});
