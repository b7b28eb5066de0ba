import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createReconcile } from "../../core/reports/reconcile.ts";
import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { runSql } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openAtNoon, today } from "../support/noon.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

/** A report with three lines without a payment, and the payment that is missing in it. */
async function openReport({ isCompared = true } = {}) {
  const payments = await openAtNoon(openPayments);
  const { app } = payments;
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  await payments.paid("gopay");
  const lines = ["A", "B", "C"].map((order) => `${order},1000,${today()}\n`);
  const uploaded = await app.as(staff, "/reconciliations/", {
    method: "POST",
    body: `order_id,amount,time\n${lines.join("")}`,
    headers: { "Content-Type": "text/csv" },
  });
  const { id } = await uploaded.json();
  const { signal } = new AbortController();
  const job = { subject_id: id } as GatewayJob;
  if (isCompared) await createReconcile(app.service).run(job, { signal, stopping: signal });
  const path = `/reconciliations/${id}/`;
  return Object.assign(payments, {
    staff,
    path,
    mark: (number: unknown, action: string, key = staff) =>
      app.as(key, `${path}differences/${number}/${action}/`, { method: "POST" }),
    async list(query = ""): Promise<Json[]> {
      return await (await payments.get(`${path}differences/${query}`, staff)).json();
    },
    async open(): Promise<number> {
      return (await (await payments.get(path, staff)).json()).open_differences;
    },
  });
}

Deno.test("difference: is resolved with user and time, filtered, counted, and opened again", async () => {
  await using report = await openReport();
  const [absent, ...others] = await report.list();
  assert.equal(absent!.result, "missing_there");
  assert.equal(absent!.line, null);
  assert.deepEqual([absent!.resolved_at, absent!.resolved_by], [null, null]);
  assert.equal(await report.open(), 4);
  for (const { id } of [absent!, others[1]!]) {
    const response = await report.mark(id, "resolve");
    assert.equal(response.status, 200);
    const resolved = await response.json();
    assert.equal(resolved.id, id);
    assert.equal(resolved.resolved_by, "carol");
    assert.ok(!Number.isNaN(Date.parse(resolved.resolved_at)));
  }
  assert.equal(await report.open(), 2);
  const ids = (found: Json[]) => found.map(({ id }) => id);
  assert.deepEqual(ids(await report.list("?resolved=true")), [absent!.id, others[1]!.id]);
  assert.deepEqual(ids(await report.list("?resolved=false")), [others[0]!.id, others[2]!.id]);
  assert.deepEqual(ids(await report.list("?resolved=true&result=missing_here")), [others[1]!.id]);
  const first = await report.get(`${report.path}differences/?resolved=false&limit=1`, report.staff);
  const next = first.headers.get("link")!.match(/<(.+)>/)![1]!;
  assert.deepEqual(ids(await (await report.get(next, report.staff)).json()), [others[2]!.id]);
  const [listed] = await (await report.get("/reconciliations/", report.staff)).json();
  assert.equal(listed.open_differences, 2);
  assert.equal(listed.results.missing_here, 3, "the results of the comparison stay");

  const reopened = await report.mark(absent!.id, "reopen");
  assert.deepEqual(await reopened.json(), absent);
  assert.equal(await report.open(), 3);
});

Deno.test("difference: resolving or opening it again changes nothing, and keeps who did it first", async () => {
  await using report = await openReport();
  const { app, databaseUrl } = report;
  const other = await app.createKey({ userId: "dave", isStaff: true });
  const [{ id }] = await report.list() as [Json];
  assert.equal((await report.mark(id, "reopen")).status, 200);
  const first = await (await report.mark(id, "resolve")).json();
  const again = await (await report.mark(id, "resolve", other)).json();
  assert.deepEqual(again, first);
  assert.equal(await report.open(), 3);
  for (const key of [other, report.staff]) {
    assert.equal((await report.mark(id, "reopen", key)).status, 200);
  }
  assert.equal(await report.open(), 4);
  await app.audit.flush();
  const audit = await runSql(
    databaseUrl,
    `select user_id, action, resource_id from gateway.audit
    where action like '%/differences/%' order by id`,
  );
  const [resource_id] = report.path.match(/[0-9a-f-]{36}/)!;
  const path = "POST /reconciliations/{pk}/differences/{difference_id}";
  assert.deepEqual([...audit], [
    { user_id: "carol", action: `${path}/resolve/`, resource_id },
    { user_id: "dave", action: `${path}/reopen/`, resource_id },
  ], "requests that change nothing are not recorded");
});

Deno.test("difference: of requests at the same time, one resolves it, and it is counted once", async () => {
  await using report = await openReport();
  const differences = await report.list();
  const [{ id }] = differences as [Json];
  const answers = await Promise.all(Array.from({ length: 6 }, () => report.mark(id, "resolve")));
  for (const { status } of answers) assert.equal(status, 200);
  const times = await Promise.all(answers.map(async (each) => (await each.json()).resolved_at));
  assert.equal(new Set(times).size, 1);
  assert.equal(await report.open(), 3);
  await Promise.all(differences.map((each) => report.mark(each.id, "resolve")));
  assert.equal(await report.open(), 0);
});

Deno.test("difference: only staff resolve it; an unknown one, and one of a file that is not compared, is 404", async () => {
  await using report = await openReport();
  const { app } = report;
  const [{ id }] = await report.list() as [Json];
  const viewer = await app.createKey({ userId: "vera", isViewer: true });
  const user = await app.createKey({ userId: "shop" });
  for (const action of ["resolve", "reopen"]) {
    await assertProblem(await report.mark(id, action, viewer), 403, "forbidden");
    await assertProblem(await report.mark(id, action, user), 403, "forbidden");
    for (const wrong of ["0", "1", "99", "-99", "x", "1.5", "03", "9".repeat(20), randomUUID()]) {
      await assertProblem(await report.mark(wrong, action), 404, "not_found");
    }
    const elsewhere = `/reconciliations/${randomUUID()}/differences/${id}/${action}/`;
    const answer = await app.as(report.staff, elsewhere, { method: "POST" });
    await assertProblem(answer, 404, "not_found");
  }
  assert.equal(await report.open(), 4);

  await using queued = await openReport({ isCompared: false });
  await assertProblem(await queued.mark(2, "resolve"), 404, "not_found");
  assert.equal(await queued.open(), null);
});
