import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { insertJobs, type NewJob } from "../../db/jobs/jobs.ts";
import { JobSchema } from "../../routes/jobs/schema.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { newJob } from "../support/jobs/jobs.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const ASYNC = { Prefer: "respond-async" };

interface Jobs extends AsyncDisposable {
  app: TestApp;
  staff: string;
  alice: string;
  bob: string;
  databaseUrl: string;
  insert(job?: Partial<NewJob>): Promise<string>;
  /** Updates the status of a job; `more` is SQL that sets other columns. */
  setStatus(id: string, status: string, more?: string): Promise<void>;
  list(query?: string, key?: string): Promise<Response>;
  retry(id: string, key?: string): Promise<Response>;
}

async function openJobs(env?: Record<string, string>): Promise<Jobs> {
  const databaseUrl = await createDatabase();
  const app = await openApp({ databaseUrl, env });
  const [staff, alice, bob] = await Promise.all([
    app.createKey({ userId: "carol", isStaff: true }),
    app.createKey({ userId: "alice" }),
    app.createKey({ userId: "bob" }),
  ]);
  return {
    app,
    staff,
    alice,
    bob,
    databaseUrl,
    async insert(job) {
      const newRow = newJob({ id: uuidv7(), ...job });
      await app.database.query((sql) => insertJobs(sql, [newRow]));
      return newRow.id;
    },
    async setStatus(id, status, more = "") {
      await runSql(
        databaseUrl,
        `update gateway.jobs set status = '${status}'${more} where id = '${id}'`,
      );
    },
    list: (query = "", key = staff) => app.as(key, `/jobs/${query}`),
    retry: (id, key = staff) => app.as(key, `/jobs/${id}/retry/`, { method: "POST" }),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

async function idsOf(response: Response): Promise<string[]> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return z.array(JobSchema).parse(JSON.parse(text)).map(({ id }) => id);
}

Deno.test("GET /jobs/{pk}/: returns the job to its owner and staff, 404 to another user", async () => {
  await using jobs = await openJobs();
  const { app, alice, bob, staff } = jobs;
  const aliceJob = await jobs.insert({ user_id: "alice", payload: { input: "hidden" } });
  const staffJob = await jobs.insert();
  for (const key of [alice, staff]) {
    const response = await app.as(key, `/jobs/${aliceJob}/`);
    assert.equal(response.status, 200);
    const job = await response.json();
    assert.deepEqual(Object.keys(job), Object.keys(JobSchema.shape), "no other column is returned");
    assert.deepEqual([job.id, job.status], [aliceJob, "queued"]);
  }
  assert.equal((await app.as(staff, `/jobs/${staffJob}/`)).status, 200);
  const answers = await Promise.all([
    app.as(bob, `/jobs/${aliceJob}/`),
    app.as(bob, `/jobs/${staffJob}/`),
    app.as(alice, `/jobs/${staffJob}/`),
    app.as(alice, `/jobs/${randomUUID()}/`),
    app.as(alice, "/jobs/no-id/"),
    app.as(staff, `/jobs/${randomUUID()}/`),
  ]);
  const problems = await Promise.all(
    answers.map(async (each) => ({ ...await assertProblem(each, 404, "not_found"), instance: "" })),
  );
  for (const each of problems) assert.deepEqual(each, problems[0]);
});

Deno.test("GET /jobs/: lists jobs for staff, newest first, in pages, filtered by task and status", async () => {
  await using jobs = await openJobs({
    DATABASE_URL: "postgres://somewhere/else",
    GATEWAY_SERVER_KEY: "Mid-server-of-the-tests",
    BASE_PATH: "/pay",
  });
  const { app, alice, staff } = jobs;
  const list = (query: string) => app.as(staff, `/pay/jobs/${query}`);
  const inserted: { id: string; task: string; status: string }[] = [];
  for (let i = 0; i < 12; i++) {
    const task = i % 2 === 0 ? "greet" : "wave";
    const status = ["queued", "running", "failed"][i % 3]!;
    const id = await jobs.insert({ task });
    await jobs.setStatus(id, status);
    inserted.unshift({ id, task, status });
  }
  const expected = (task: string | null, status: string | null) =>
    inserted.filter((each) =>
      (task ?? each.task) === each.task && (status ?? each.status) === each.status
    )
      .map(({ id }) => id);
  for (const task of [null, "greet", "wave", "nothing"]) {
    for (const status of [null, "queued", "running", "failed", "succeeded"]) {
      const filter = `${task ? `&task=${task}` : ""}${status ? `&status=${status}` : ""}`;
      assert.deepEqual(await idsOf(await list(`?limit=100${filter}`)), expected(task, status));
      const paged: string[] = [];
      for (let next: string | undefined = `/pay/jobs/?limit=5${filter}`; next;) {
        const page: Response = await app.as(staff, next);
        next = page.headers.get("link")?.match(/<(.+)>; rel="next"/)?.[1];
        const ids = await idsOf(page);
        assert.ok(ids.length <= 5);
        paged.push(...ids);
      }
      assert.deepEqual(paged, expected(task, status), filter);
    }
  }
  await assertProblem(await app.as(alice, "/pay/jobs/"), 403, "forbidden");
  for (const query of ["?status=done", "?limit=0", "?cursor=x", "?task="]) {
    await assertProblem(await list(query), 400, "validation_error");
  }
});

Deno.test("POST /jobs/{pk}/retry/: queues a failed job again for staff, and resets its attempts", async () => {
  await using jobs = await openJobs();
  const { app } = jobs;
  const id = await jobs.insert({ task: "no_such_task", user_id: "alice" });
  await jobs.setStatus(id, "failed", ", attempts = 6, error = 'no'");
  await assertProblem(await jobs.retry(id, jobs.alice), 403, "forbidden");
  await assertProblem(await jobs.retry(randomUUID()), 404, "not_found");
  const response = await jobs.retry(id);
  assert.equal(response.status, 200);
  const job = JobSchema.parse(await response.json());
  assert.deepEqual([job.id, job.status, job.attempts, job.error], [id, "queued", 0, null]);
  assert.equal(app.enqueued.at(-1)?.id, id);
  await runDueJobs(app);
  const [row] = await runSql(jobs.databaseUrl, `select * from gateway.jobs where id = '${id}'`);
  assert.deepEqual([row!.status, row!.attempts], ["failed", 1]);
});

Deno.test("POST /jobs/{pk}/retry/: rejects a job that has not failed", async () => {
  await using jobs = await openJobs();
  for (const status of ["queued", "running", "succeeded"]) {
    const id = await jobs.insert();
    await jobs.setStatus(id, status, ", attempts = 2");
    const { detail } = await assertProblem(await jobs.retry(id), 400, "invalid_state");
    assert.match(detail!, new RegExp(status));
    const [row] = await runSql(jobs.databaseUrl, `select * from gateway.jobs where id = '${id}'`);
    assert.deepEqual([row!.status, row!.attempts], [status, 2]);
  }
});

Deno.test("POST /jobs/{pk}/retry/: of many concurrent retries one succeeds", async () => {
  await using jobs = await openJobs();
  const id = await jobs.insert();
  await jobs.setStatus(id, "failed");
  const answers = await Promise.all(Array.from({ length: 10 }, () => jobs.retry(id)));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, ...Array(9).fill(400)]);
});

Deno.test("POST /jobs/{pk}/retry/: rejects a job if another job of the same task and subject is queued", async () => {
  await using jobs = await openJobs();
  const subject_id = randomUUID();
  const failed = await jobs.insert({ subject_id });
  await jobs.setStatus(failed, "failed");
  await jobs.insert({ subject_id });
  const { detail } = await assertProblem(await jobs.retry(failed), 400, "invalid_state");
  assert.match(detail!, /already queued/);
});

/** Sends a charge without order id. Its job fails with an unknown outcome. Returns the job's id. */
async function createFailedCharge(payments: RelayedPayments, advance: (ms: number) => void) {
  const { app, post, relay, sandbox } = payments;
  const { intercept } = relay;
  const body = await chargeRequest(sandbox, "bca");
  const { id } = await (await post("/charge/", body, ASYNC)).json();
  // The gateway makes the charge, but all its responses are lost.
  relay.intercept = async (_request, pass) => {
    await (await pass()).body?.cancel();
    return new Response("<html>", { status: 502 });
  };
  for (let delay = 10_000; delay <= 320_000; delay *= 2) {
    await runDueJobs(app);
    advance(delay);
  }
  relay.intercept = intercept;
  const job = await (await payments.get(`/jobs/${id}/`)).json();
  assert.equal(job.status, "failed", job.error);
  return id;
}

Deno.test("POST /jobs/{pk}/retry/: finds a charge that an earlier attempt created, and does not repeat it", async () => {
  let now = Date.now();
  await using payments = await openRelayed({
    now: () => now,
    gatewayOptions: { wait: createWaits().wait },
  });
  const { app, post, get } = payments;
  const id = await createFailedCharge(payments, (ms) => now += ms);
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  assert.equal((await post(`/jobs/${id}/retry/`, undefined, {}, staff)).status, 200);
  await runDueJobs(app);
  const job = JobSchema.parse(await (await get(`/jobs/${id}/`)).json());
  assert.equal(job.status, "succeeded", job.error!);
  const transactions = await payments.sandbox.control("transactions", undefined, "GET");
  assert.equal(transactions.length, 1);
  const payment = await payments.read(transactions[0].metadata.payment_ref);
  assert.deepEqual(job.result, { payment });
});

Deno.test("POST /jobs/{pk}/retry/: rejects a charge that was requested more than 23 hours ago, and keeps its error", async () => {
  let now = Date.now();
  await using payments = await openRelayed({
    now: () => now,
    gatewayOptions: { wait: createWaits().wait },
  });
  const { app, post, get, relay } = payments;
  const id = await createFailedCharge(payments, (ms) => now += ms);
  now += 23 * 3_600_000;
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const refused = await post(`/jobs/${id}/retry/`, undefined, {}, staff);
  const { detail } = await assertProblem(refused, 400, "invalid_state");
  assert.match(detail!, /more than 23 hours old/);
  const before = relay.times("POST /v2/charge");
  await runDueJobs(app);
  const job = JobSchema.parse(await (await get(`/jobs/${id}/`)).json());
  assert.equal(job.status, "failed");
  assert.match(job.error!, /outcome unknown: payment/);
  assert.equal(relay.times("POST /v2/charge"), before);
});
