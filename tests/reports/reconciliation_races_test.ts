import assert from "node:assert/strict";
import { dayInWib } from "../../core/gateway/times.ts";
import { newId } from "../../core/ids.ts";
import { PostponeJob } from "../../core/jobs/task.ts";
import { prune } from "../../core/tasks/prune.ts";
import { createReconcile } from "../../core/reports/reconcile.ts";
import { deleteReconciliation } from "../../core/reports/reconciliations.ts";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import type { GatewayJob } from "../../db/jobs/jobs.ts";
import type { TestAppOptions } from "../support/app.ts";
import { createHeldDatabase } from "../support/database/held_database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

interface TestReports extends TestPayments {
  staff: string;
}

async function openReports(options: Partial<TestAppOptions> = {}): Promise<TestReports> {
  const payments = await openPayments(options);
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  return Object.assign(payments, { staff });
}

async function upload({ app, staff }: TestReports, body: string): Promise<Response> {
  return await app.as(staff, "/reconciliations/", {
    method: "POST",
    body,
    headers: { "Content-Type": "text/csv" },
  });
}

/** Runs the job of a reconciliation, as a worker does that has claimed it. */
async function runJob(
  { app }: TestReports,
  id: string,
  stopping = new AbortController().signal,
): Promise<unknown> {
  const context = { signal: new AbortController().signal, stopping };
  return await createReconcile(app.service).run({ subject_id: id } as GatewayJob, context);
}

async function read({ get, staff }: TestReports, id: string): Promise<Json> {
  return await (await get(`/reconciliations/${id}/`, staff)).json();
}

const today = () => dayInWib(new Date());

/** Inserts payments of 1,000 that were settled now, and returns a line of a report for each. */
async function insertSettled({ app }: TestReports, count: number): Promise<string[]> {
  const now = new Date();
  const ids = Array.from({ length: count }, () => newId(now));
  await app.database.query((sql) =>
    sql`
      insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type,
        gross_amount, captured_amount, currency, transaction_status, settlement_time, sent_at,
        created_at, updated_at)
      select id, 'alice', id, id, 'gopay', 1000, 1000, 'IDR', 'settlement', now(), now(), now(),
        now()
      from unnest(${sql.array(ids)}::uuid[]) id`
  );
  return ids.map((id) => `${id},${id},1000,${today()}\n`);
}

const HEADER = "order_id,transaction_id,amount,time\n";

/** Everything that the job of a reconciliation writes. */
async function stored({ app: { database } }: TestReports) {
  return await database.query(async (sql) => ({
    files: [...await sql`select * from gateway.reconciliations order by id`],
    lines: [
      ...await sql`select * from gateway.reconciliation_lines
      order by reconciliation_id, line`,
    ],
    checks: [
      ...await sql`select * from gateway.jobs where task = 'check_payment_status'
      order by id`,
    ],
  }));
}

/** The checks that are queued have run. */
async function endChecks({ app }: TestReports): Promise<void> {
  await app.database.query((sql) =>
    sql`update gateway.jobs set status = 'succeeded' where task = 'check_payment_status'`
  );
}

/** The calls of the database that a run makes, in their order. */
const STEPS = [
  "list lines",
  "compare lines",
  "list settled payments",
  "store missing payments",
  "delete matched",
  "queue checks",
  "end reconciliation",
];

Deno.test("reconciliation: a run that is paused at any step changes nothing after another run has ended the file", async () => {
  const { wrapDatabase, holdNext } = createHeldDatabase();
  await using reports = await openReports({ wrapDatabase });
  const [different, , ...agree] = await insertSettled(reports, 5);
  for (const step of STEPS) {
    const file = HEADER + different!.replace(",1000,", ",999,") + agree.join("") +
      `${step},,1,${today()}\n`;
    const { id } = await (await upload(reports, file)).json();
    const held = holdNext(step);
    const paused = runJob(reports, id);
    await held.arrived;
    await runJob(reports, id);
    const { status, results } = await read(reports, id);
    assert.equal(status, "succeeded");
    const lines = { matched: 3, amount_differs: 1, status_differs: 0, listed_twice: 0 };
    assert.deepEqual(results, { ...lines, missing_here: 1, missing_there: 1 }, step);
    await endChecks(reports);
    const before = await stored(reports);
    held.release();
    await assert.rejects(paused, PostponeJob, step);
    assert.deepEqual(await stored(reports), before, step);
    // The next run of the paused job finds the result.
    assert.deepEqual(await runJob(reports, id), {
      reconciliation_id: id,
      compared_lines: 5,
      lines: 5,
    });
    assert.deepEqual(await stored(reports), before, step);
    // Otherwise the next file would list the same settlements again.
    await deleteReconciliation(reports.app.database, id);
  }
});

/** Stops a run before it reads this batch, counted from 1. A batch has lines or payments. */
function stopBefore(batch: number): AbortSignal {
  let batches = 0;
  return {
    get aborted() {
      return ++batches >= batch;
    },
  } as AbortSignal;
}

Deno.test("reconciliation: a run that is paused does not undo the progress of another run that was interrupted", async () => {
  const { wrapDatabase, holdNext } = createHeldDatabase();
  await using reports = await openReports({ wrapDatabase });
  const settled = await insertSettled(reports, 1_200);
  const file = HEADER + settled.map((line) => line.replace(",1000,", ",999,")).join("");
  const { id } = await (await upload(reports, file)).json();
  await insertSettled(reports, 1_100);
  // The other run is stopped after two batches of lines, then after four pages of payments.
  for (const [step, batch] of [["compare lines", 3], ["store missing payments", 6]] as const) {
    const held = holdNext(step);
    const paused = runJob(reports, id);
    await held.arrived;
    await assert.rejects(runJob(reports, id, stopBefore(batch)), PostponeJob);
    const before = await stored(reports);
    held.release();
    await assert.rejects(paused, PostponeJob, step);
    assert.deepEqual(await stored(reports), before, step);
  }
  await runJob(reports, id);
  const { results } = await read(reports, id);
  assert.deepEqual([results.amount_differs, results.missing_there], [1_200, 1_100]);
  assert.equal((await stored(reports)).lines.length, 2_300);
});

Deno.test("reconciliation: a payment whose line agreed is not missing if it is settled while two runs overlap", async () => {
  const { wrapDatabase, holdNext } = createHeldDatabase();
  await using reports = await openReports({ wrapDatabase });
  const [line] = await insertSettled(reports, 1);
  const settle = (time: Date | null) =>
    reports.app.database.query((sql) => sql`update gateway.payments set settlement_time = ${time}`);
  await settle(null);
  const { id } = await (await upload(reports, HEADER + line)).json();
  const heldSearch = holdNext("list settled payments");
  const searching = runJob(reports, id);
  await heldSearch.arrived;
  const heldEnd = holdNext("end reconciliation");
  const ending = runJob(reports, id);
  await heldEnd.arrived;
  await settle(new Date());
  heldSearch.release();
  await assert.rejects(searching, PostponeJob);
  heldEnd.release();
  await ending;
  const { results, queued_checks } = await read(reports, id);
  assert.deepEqual([results.matched, results.missing_there, queued_checks], [1, 0, 0]);
});

Deno.test("reconciliation: several runs at the same time count each line and each missing payment once", async () => {
  await using reports = await openReports({ poolSize: 8 });
  const lines = await insertSettled(reports, 2_600);
  const { id } = await (await upload(reports, HEADER + lines.slice(1_200).join(""))).json();
  const errors: unknown[] = [];
  while ((await read(reports, id)).status !== "succeeded") {
    const runs = await Promise.allSettled([1, 2, 3].map(() => runJob(reports, id)));
    errors.push(...runs.flatMap((run) => run.status === "rejected" ? [run.reason] : []));
  }
  assert.deepEqual(errors.filter((error) => !(error instanceof PostponeJob)), []);
  assert.ok(errors.length > 0, "the runs overlap");
  const { results, queued_checks } = await read(reports, id);
  assert.deepEqual([results.matched, results.missing_there, queued_checks], [1_400, 1_200, 1_000]);
  const { lines: differences, checks } = await stored(reports);
  assert.equal(new Set(differences.map(({ payment_id }) => payment_id)).size, 1_200);
  assert.equal(differences.length, 1_200);
  assert.equal(checks.length, 1_000);
});

Deno.test("reconciliation: a run that is paused at any step stores nothing in a file that is being deleted", async () => {
  const { wrapDatabase, holdNext } = createHeldDatabase();
  await using reports = await openReports({ wrapDatabase });
  const [, ...lines] = await insertSettled(reports, 3);
  const late = { ...reports.app.service, clock: () => Date.now() + 500 * 86_400_000 };
  for (const step of STEPS) {
    await endChecks(reports);
    const file = HEADER + lines.join("") + `${step},,1,${today()}\n`;
    const { id } = await (await upload(reports, file)).json();
    const held = holdNext(step);
    const paused = runJob(reports, id);
    await held.arrived;
    const { checks: checksBefore } = await stored(reports);
    const heldDelete = holdNext("delete reconciliation");
    const pruning = prune(late);
    await heldDelete.arrived;
    held.release();
    await assert.rejects(paused, PostponeJob, step);
    assert.equal(await runJob(reports, id), null, "the next run ends");
    heldDelete.release();
    await pruning;
    const { checks, ...left } = await stored(reports);
    assert.deepEqual(left, { files: [], lines: [] }, step);
    assert.deepEqual(checks, checksBefore, step);
  }
});

Deno.test("reconciliation: a job that runs while its upload is deleted stores no lines and queues no checks", async () => {
  const held = createHeldDatabase();
  // As if the response to the commit was lost.
  const wrapDatabase = (database: Database) =>
    held.wrapDatabase({
      ...database,
      async transaction(work, name) {
        const result = await database.transaction(work, name);
        if (name === "end upload") throw new DatabaseUnavailable("No response");
        return result;
      },
    });
  await using reports = await openReports({ wrapDatabase });
  const lines = await insertSettled(reports, 2);
  const heldDelete = held.holdNext("delete reconciliation");
  const uploading = upload(reports, HEADER + lines[0]);
  await heldDelete.arrived;
  const [job] = await reports.app.database.query((sql) =>
    sql`select subject_id from gateway.jobs where task = 'reconcile'`
  );
  assert.equal(await runJob(reports, job!.subject_id), null);
  heldDelete.release();
  await assertProblem(await uploading, 503, "unavailable");
  assert.deepEqual(await stored(reports), { files: [], lines: [], checks: [] });
});

Deno.test("reconciliation: an upload that is stored stays stored if the database fails right after it", async () => {
  let isDown = false;
  const refuse = () => isDown ? Promise.reject(new DatabaseUnavailable("No response")) : null;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: async (work, name) => await refuse() ?? await database.query(work, name),
    async transaction(work, name) {
      const result = await refuse() ?? await database.transaction(work, name);
      isDown = name === "end upload";
      return result;
    },
  });
  await using reports = await openReports({ wrapDatabase });
  const response = await upload(reports, HEADER + `A,,1000,${today()}\n`);
  isDown = false;
  assert.equal(response.status, 202, await response.clone().text());
  const { id } = await response.json();
  assert.equal((await read(reports, id)).status, "queued");
});

Deno.test("reconciliation: a file whose job has failed is compared when it is uploaded again", async () => {
  const clock = manualClock();
  let isFailing = true;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    transaction: (work, name) =>
      isFailing && name === "store missing payments"
        ? Promise.reject(new DatabaseUnavailable("No response"))
        : database.transaction(work, name),
  });
  await using reports = await openReports({ now: clock.now, wrapDatabase });
  const [line] = await insertSettled(reports, 1);
  const file = HEADER + line;
  const { id, job_id } = await (await upload(reports, file)).json();
  const again = async () => {
    const responses = await Promise.all([upload(reports, file), upload(reports, file)]);
    const bodies = await Promise.all(responses.map((each) => each.json()));
    for (const body of bodies) assert.equal(body.id, id);
    return { statuses: responses.map(({ status }) => status).sort(), bodies };
  };
  const jobStatus = async (jobId: string) =>
    (await (await reports.get(`/jobs/${jobId}/`, reports.staff)).json()).status;
  assert.deepEqual((await again()).statuses, [200, 200], "the job is queued");
  for (let attempts = 0; await jobStatus(job_id) !== "failed"; attempts++) {
    assert.ok(attempts < 10);
    clock.advance(600_000);
    await runDueJobs(reports.app);
  }
  assert.equal((await read(reports, id)).status, "running");

  reports.app.enqueued.length = 0;
  const failed = await again();
  assert.deepEqual(failed.statuses, [200, 202], "one of two uploads queues the job");
  assert.deepEqual(reports.app.enqueued.map((job) => job.id), [job_id]);
  assert.equal(await jobStatus(job_id), "queued");

  // Failed jobs are deleted after their retention period.
  await reports.app.database.query((sql) => sql`delete from gateway.jobs where task = 'reconcile'`);
  const deleted = await again();
  assert.deepEqual(deleted.statuses, [200, 202], "one of two uploads inserts a job");
  const { job_id: newJobId } = await read(reports, id);
  assert.notEqual(newJobId, job_id);
  assert.ok(deleted.bodies.some((body) => body.job_id === newJobId));
  isFailing = false;
  await runDueJobs(reports.app);
  assert.equal(await jobStatus(newJobId), "succeeded");
  const { status, results } = await read(reports, id);
  assert.deepEqual([status, results.matched, results.missing_there], ["succeeded", 1, 0]);

  await reports.app.database.query((sql) => sql`delete from gateway.jobs where task = 'reconcile'`);
  assert.deepEqual((await again()).statuses, [200, 200], "a result needs no job");
  const jobs = await reports.app.database.query((sql) =>
    sql`select from gateway.jobs where task = 'reconcile'`
  );
  assert.equal(jobs.length, 0);
});
