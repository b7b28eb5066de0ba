import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { newId } from "../../core/ids.ts";
import { PostponeJob } from "../../core/jobs/task.ts";
import { prune } from "../../core/tasks/prune.ts";
import { parseCents } from "../../core/reports/report_file.ts";
import type { Database, Sql } from "../../db/connection/database.ts";
import { BEFORE_FIRST_LINE, deleteLines } from "../../db/reports/reconciliation_lines.ts";
import { createDatabase } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import type { Payment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { isPartial } from "../support/share.ts";
import {
  type Body,
  insertDifferent,
  openReports,
  queuedChecks,
  reconcile,
  runJob,
  today,
  upload,
} from "../support/reports/reconciliations.ts";

Deno.test("reconciliation: the gateway's settlement report matches refunds, chargebacks and partial captures", async () => {
  await using reports = await openReports();
  const wallet = await reports.paid("gopay", { gross_amount: 50_000 });
  for (const amount of [4_000, 4_000]) {
    const refund = await reports.post(`/payments/${wallet.id}/refund/`, { amount });
    assert.equal(refund.status, 200);
  }
  const held = await reports.charge("card_auth", { gross_amount: 90_000 });
  await reports.post(`/payments/${held.id}/capture/`, { amount: 20_000 });
  await reports.sandbox.control(`transactions/${held.transaction_id}/settle`);
  await reports.sandbox.control(`transactions/${held.transaction_id}/chargeback`);
  await reports.refresh(held.id);
  const text = await reports.sandbox.settlementReport(today());
  const result = await reconcile(reports, text);
  assert.deepEqual(result.results, {
    matched: 5,
    amount_differs: 0,
    status_differs: 0,
    listed_twice: 0,
    missing_here: 0,
    missing_there: 0,
  });
  assert.deepEqual(result.differences, []);
  const [day] = result.days;
  assert.equal(day.gross_amount, "42000.00");
  assert.equal(Number(day.gross_amount) - Number(day.fee), Number(day.net_amount));
  assert.deepEqual([result.first_day, result.last_day], [today(), today()]);
});

Deno.test("reconciliation: reports each kind of difference, changes no payment and queues one check for each payment", async () => {
  await using reports = await openReports();
  const other = await reports.paid("gopay", { gross_amount: 50_000 });
  const unpaid = await reports.charge("bca", { gross_amount: 60_000 });
  const absent = await reports.paid("gopay", { gross_amount: 70_000 });
  const good = await reports.paid("gopay", { gross_amount: 80_000 });
  const before = await Promise.all([other, unpaid, absent, good].map(({ id }) => reports.read(id)));
  const line = ({ order_id, transaction_id }: Payment, amount: number, more = "") =>
    `${order_id},${transaction_id},${amount}.00,${more},${today()} 10:00:00\r\n`;
  const file = "Order ID,Transaction ID,Gross Amount,Type,Settlement Time\r\n" +
    line(good, 80_000) +
    line(other, 49_999) +
    line(other, 1_000, "refund") +
    line(unpaid, 60_000) +
    `order-x,../../v2/charge,5000.00,,${today()}\r\n`;
  const result = await reconcile(reports, file);
  assert.deepEqual(result.results, {
    matched: 1,
    amount_differs: 1,
    status_differs: 1,
    listed_twice: 0,
    missing_here: 2,
    missing_there: 1,
  });
  assert.deepEqual(
    result.differences.map((each: Json) => [each.line, each.result, each.payment_id]),
    [
      [null, "missing_there", absent.id],
      [3, "amount_differs", other.id],
      [4, "missing_here", other.id],
      [5, "status_differs", unpaid.id],
      [6, "missing_here", null],
    ],
  );
  const [, amountDiffers] = result.differences;
  assert.deepEqual(
    [amountDiffers.amount, amountDiffers.known_amount, amountDiffers.known_status],
    ["49999.00", "50000.00", "settlement"],
  );
  const checks = await queuedChecks(reports);
  assert.deepEqual(
    checks.map(({ subject_id }) => subject_id).sort(),
    [absent.id, other.id, unpaid.id].sort(),
  );
  assert.equal(result.queued_checks, 3);
  assert.equal(new Set(checks.map(({ run_at }) => run_at.getTime())).size, 3, "one per second");
  const after = await Promise.all([other, unpaid, absent, good].map(({ id }) => reports.read(id)));
  assert.deepEqual(after, before);
  const list = await (await reports.get("/payments/", reports.staff)).json();
  assert.equal(list.length, 4, "no payment was created");

  const pages = `/reconciliations/${result.id}/differences/?limit=2`;
  const first = await reports.get(pages, reports.staff);
  const next = first.headers.get("link")!.match(/<(.+)>/)![1]!;
  const second = await (await reports.get(next, reports.staff)).json();
  assert.deepEqual(second, result.differences.slice(2, 4));
  const filtered = await reports.get(
    `/reconciliations/${result.id}/differences/?result=status_differs`,
    reports.staff,
  );
  assert.deepEqual((await filtered.json()).map(({ line }: Json) => line), [5]);
});

Deno.test("reconciliation: finds columns by their headers or by the names in columns, and reads local numbers", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 1_250_000 });
  const file =
    `\uFEFFNo. Pesanan;Nominal;Biaya;Tanggal\n${paid.order_id};1.250.000,00;875,5;${today()}\n`;
  const columns = JSON.stringify({
    order_id: "No. Pesanan",
    amount: "Nominal",
    fee: "Biaya",
    time: "Tanggal",
  });
  const result = await reconcile(reports, file, `?columns=${encodeURIComponent(columns)}`);
  assert.equal(result.results.matched, 1);
  assert.deepEqual([result.days[0].gross_amount, result.days[0].fee], ["1250000.00", "875.50"]);
  const numbers = ["44000.00", "44,000", "44.000,00", "44000", "-880.5", "1,5", "1.2.3", "1e3", ""];
  assert.deepEqual(
    numbers.map(parseCents),
    [4_400_000, 4_400_000, 4_400_000, 4_400_000, -88_050, 150, null, null, null],
  );
});

Deno.test("reconciliation: adds up by day in Jakarta, and reads times with and without a zone", async () => {
  await using reports = await openReports();
  const times = [
    "2026-03-05",
    "2026-03-05 23:59:59",
    "2026-03-05 10:15:00 +0700",
    "2026-03-05T16:59:59Z",
    "2026-03-05 17:00:00+00:00",
  ];
  const lines = times.map((time, index) => `A-${index},1000,${time}\n`);
  const { days } = await reconcile(reports, `order_id,amount,time\n${lines.join("")}`);
  assert.deepEqual(
    days.map(({ date, gross_amount }: Json) => [date, gross_amount]),
    [["2026-03-05", "4000.00"], ["2026-03-06", "1000.00"]],
  );
});

Deno.test("reconciliation: the same file is not compared again, except with other columns", async () => {
  await using reports = await openReports();
  const file = "order_id,amount,fee,costs\nA-1,1000,1,2\n";
  const { id } = await reconcile(reports, file);
  const again = await upload(reports, file);
  assert.equal(again.status, 200);
  assert.equal((await again.json()).id, id);
  const columns = encodeURIComponent('{"fee":"costs"}');
  const other = await upload(reports, file, `?columns=${columns}`);
  assert.equal(other.status, 202);
  assert.notEqual((await other.json()).id, id);
});

const HEADER = "order_id,transaction_id,gross_amount,fee,settlement_time\n";

const BAD_FILES: Record<string, [Body, RegExp]> = {
  "is empty": ["", /is empty/],
  "is UTF-16": [new Uint8Array([0xff, 0xfe, 0x6f, 0, 0x72, 0]), /UTF-8/],
  "is Latin-1": [new Uint8Array([...new TextEncoder().encode(HEADER), 0xe9, 0x2c, 0x0a]), /UTF-8/],
  "has no column of amounts": ["order_id,x\nA,1\n", /name the column of amount; .*"x"/],
  "has no column of ids": ["amount\n1\n", /order_id or transaction_id/],
  "has a doubled column": ["order_id,amount,Amount\nA,1,1\n", /several such columns/],
  "has a cut line": [`${HEADER}A,t,1000,1,2026-03-05\nB,t2,10`, /line 3 has 3 cells/],
  "has a broken quote": [`${HEADER}A,"t"x,1000,1,2026-03-05\n`, /line 2 is not valid CSV/],
  "has an unclosed quote": [`${HEADER}A,"t,1000,1,2026-03-05\n`, /line \d+ is not valid CSV/],
  "has a formula as an amount": [`${HEADER}A,t,=1+1,1,2026-03-05\n`, /line 2 .*invalid amount/],
  "has fractions of a rupiah": [`${HEADER}A,t,10.50,1,2026-03-05\n`, /line 2 .*invalid amount/],
  "has an invalid fee": [`${HEADER}A,t,10,free,2026-03-05\n`, /line 2 .*invalid fee/],
  "has an invalid time": [`${HEADER}A,t,10,1,2026-02-30\n`, /line 2 .*invalid time/],
  "has a time in the year 0": [`${HEADER}A,t,10,1,0000-01-01\n`, /line 2 .*invalid time/],
  "has a time after the year 9999": [
    `${HEADER}A,t,10,1,+012026-01-01T00:00:00Z\n`,
    /line 2 .*invalid time/,
  ],
  "has NUL in a status": ["order_id,amount,status\nA,10,refund\0\n", /line 2 .*invalid status/],
  "has NUL in a status and a valid type": [
    "order_id,amount,type,status\nA,10,payment,\0x\n",
    /line 2 .*invalid status/,
  ],
  "has a line without ids": [`${HEADER},,10,1,2026-03-05\n`, /line 2 has no order id/],
  "has control characters in an id": [`${HEADER}A\u0007,t,10,1,2026-03-05\n`, /invalid id/],
  "has more than 1,000 days": [
    HEADER + Array.from({ length: 1_001 }, (_, index) => {
      const day = new Date(Date.UTC(2020, 0, 1 + index)).toISOString().slice(0, 10);
      return `A,t,1000,1,${day}\n`;
    }).join(""),
    /more than 1000 days/,
  ],
  "has amounts that are too large to add up": [
    "order_id,amount,net,time\n" +
    `A,1000,${"9".repeat(13)}.00,2026-03-05\n`.repeat(10),
    /line 11: the amounts of one day are too large/,
  ],
  "has several bad lines": [`${HEADER}A,t,x,1,\nB,t,1,1,\nC,t,y,1,\n`, /line 2 .*line 4/s],
};

Deno.test("reconciliation: a file with an error is rejected as a whole, with the numbers of its lines", async () => {
  await using reports = await openReports();
  for (const [name, [body, message]] of Object.entries(BAD_FILES)) {
    const problem = await assertProblem(await upload(reports, body), 400, "validation_error");
    assert.match(problem.detail!, message, name);
  }
  for (const columns of ["x", "[]", '{"colour":"a"}', '{"amount":1}']) {
    const response = await upload(reports, HEADER, `?columns=${encodeURIComponent(columns)}`);
    await assertProblem(response, 400, "validation_error");
  }
  const unknown = encodeURIComponent('{"amount":"Nominal"}');
  const problem = await assertProblem(
    await upload(reports, HEADER, `?columns=${unknown}`),
    400,
    "validation_error",
  );
  assert.match(problem.detail!, /no column "Nominal"/);
  const rows = await reports.app.database.query((sql) =>
    sql`
      select 1 from gateway.reconciliations
      union all select 1 from gateway.reconciliation_lines
      union all select 1 from gateway.jobs where task = 'reconcile'`
  );
  assert.equal(rows.length, 0, "nothing is left");
});

/** A header, then the same lines up to 100 MB; `sent` counts the bytes. */
function endlessFile(header: string, lines: string) {
  const chunks = { sent: 0 };
  const chunk = new TextEncoder().encode(lines);
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (chunks.sent === 0) controller.enqueue(new TextEncoder().encode(header));
      chunks.sent += chunk.byteLength;
      if (chunks.sent > 100_000_000) controller.close();
      else controller.enqueue(chunk);
    },
  }, { highWaterMark: 0 });
  return { body, chunks };
}

Deno.test({
  name: "reconciliation: a file of more than 64 MiB is rejected while it is read",
  ignore: isPartial,
  async fn() {
    await using reports = await openReports();
    const large = endlessFile(
      "order_id,amount,note\n",
      `A,1000,${"x".repeat(60_000)}\n`.repeat(16),
    );
    await assertProblem(await upload(reports, large.body), 413, "payload_too_large");
    assert.ok(large.chunks.sent < 80_000_000, `${large.chunks.sent} bytes were read`);
  },
});

Deno.test("reconciliation: a file with many errors, or whose length is above 64 MiB, is rejected before its end", async () => {
  await using reports = await openReports();
  const invalid = endlessFile(HEADER, "A,t,ten,1,2026-03-05\n".repeat(1_000));
  await assertProblem(await upload(reports, invalid.body), 400, "validation_error");
  assert.ok(invalid.chunks.sent < 10_000_000, `${invalid.chunks.sent} bytes were read`);
  const response = await reports.app.as(reports.staff, "/reconciliations/", {
    method: "POST",
    body: "x",
    headers: { "Content-Type": "text/csv", "Content-Length": "100000000" },
  });
  await assertProblem(response, 413, "payload_too_large");
  const json = await reports.post("/reconciliations/", {}, {}, reports.staff);
  await assertProblem(json, 415, "unsupported_media_type");
});

Deno.test("reconciliation: only staff upload; viewers read the result, other callers do not", async () => {
  await using reports = await openReports();
  const viewer = await reports.app.createKey({ userId: "dave", isViewer: true });
  const { id } = await reconcile(reports, "order_id,amount\nA-1,1000\n");
  for (const key of [reports.key, viewer]) {
    await assertProblem(await upload(reports, HEADER, "", key), 403, "forbidden");
  }
  for (const path of [`/reconciliations/${id}/`, `/reconciliations/${id}/differences/`]) {
    assert.equal((await reports.get(path, viewer)).status, 200);
    await assertProblem(await reports.get(path), 403, "forbidden");
    const missing = path.replace(id, newId(new Date()));
    await assertProblem(await reports.get(missing, viewer), 404, "not_found");
  }
});

Deno.test("reconciliation: queues at most 1,000 checks unless they are confirmed, and continues after an interruption", async () => {
  await using reports = await openReports();
  const file = await insertDifferent(reports, 1_200);
  const response = await upload(reports, file);
  const { id, job_id, results } = await response.json();
  assert.equal(results, null);
  await assert.rejects(runJob(reports, id, AbortSignal.abort()), PostponeJob);
  await reports.app.database.query((sql) =>
    sql`update gateway.jobs set status = 'running' where id = ${job_id}`
  );
  let checks = 0;
  const stopping = {
    get aborted() {
      return ++checks > 2;
    },
  } as AbortSignal;
  await assert.rejects(runJob(reports, id, stopping), PostponeJob);
  const { result } = await (await reports.get(`/jobs/${job_id}/`, reports.staff)).json();
  assert.deepEqual(result, { reconciliation_id: id, compared_lines: 1_000, lines: 1_200 });
  const read = async () =>
    await (await reports.get(`/reconciliations/${id}/`, reports.staff)).json();
  assert.equal((await read()).status, "running");
  await runJob(reports, id);
  const ended = await read();
  assert.deepEqual([ended.status, ended.results.amount_differs], ["succeeded", 1_200]);
  assert.equal(ended.results.missing_there, null, "the file has no times");
  assert.equal(ended.queued_checks, 1_000);
  assert.equal((await queuedChecks(reports)).length, 1_000);
  const confirmed = await reconcile(reports, file + "x,y,1\n", "?confirm_checks=true");
  assert.equal(confirmed.queued_checks, 1_200);
  assert.equal((await queuedChecks(reports)).length, 1_200, "no payment is checked twice");
});

Deno.test("reconciliation: a search for missing payments that is interrupted continues, and counts each once", async () => {
  await using reports = await openReports();
  await insertDifferent(reports, 1_200);
  await reports.app.database.query((sql) =>
    sql`update gateway.payments set settlement_time = created_at where order_id like 'o-%'`
  );
  const response = await upload(reports, `order_id,amount,time\nx,1000,${today()}\n`);
  const { id } = await response.json();
  let checks = 0;
  const stopping = {
    get aborted() {
      return ++checks > 4;
    },
  } as AbortSignal;
  await assert.rejects(runJob(reports, id, stopping), PostponeJob);
  const [stored] = await reports.app.database.query((sql) =>
    sql`select summary from gateway.reconciliations where id = ${id}`
  );
  assert.equal(stored!.summary.results.missing_there, 1_000, "interrupted");
  await runJob(reports, id);
  const result = await (await reports.get(`/reconciliations/${id}/`, reports.staff)).json();
  assert.equal(result.results.missing_there, 1_200);
  const rows = await reports.app.database.query((sql) =>
    sql`select count(distinct payment_id) from gateway.reconciliation_lines`
  );
  assert.equal(rows[0]!.count, 1_200);
});

/** Index entries and rows that the transaction has read so far. */
async function readSoFar(sql: Sql): Promise<number> {
  const [row] = await sql`
    select sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))::int
      as count
    from pg_class where relnamespace = 'gateway'::regnamespace`;
  return row!.count;
}

Deno.test("reconciliation: of a large file, no call of the database reads more than a part", async () => {
  const lines = isPartial ? 10_000 : 30_000;
  const read = new Map<string, number>();
  const wrapDatabase = (database: Database): Database => {
    const counted: Database["query"] = (work, name = "") =>
      database.transaction(async (sql) => {
        const before = await readSoFar(sql);
        const result = await work(sql);
        const count = await readSoFar(sql) - before;
        read.set(name, Math.max(count, read.get(name) ?? 0));
        return result;
      }, name);
    return { ...database, query: counted, transaction: counted };
  };
  const databaseUrl = await createDatabase({ isNew: true });
  await using reports = await openReports({ databaseUrl, wrapDatabase, poolSize: 1 });
  // PostgreSQL plans a statement once per connection, here while the table is empty.
  for (const which of ["all", "matched"] as const) {
    const step = { which, after: BEFORE_FIRST_LINE, limit: 10 };
    await reports.app.database.query((sql) => deleteLines(sql, randomUUID(), step));
  }
  const file = "order_id,amount,time\n" + `same,1000,${today()}\n`.repeat(lines);
  const result = await reconcile(reports, file);
  assert.equal(result.results.missing_here, lines);
  assert.deepEqual(
    [result.days[0].lines, result.days[0].gross_amount],
    [lines, `${lines * 1_000}.00`],
  );
  assert.equal((await upload(reports, file)).status, 200, "the second upload is deleted");
  const broken = await upload(reports, `${file}same,free,${today()}\n`);
  await assertProblem(broken, 400, "validation_error");
  await prune({ ...reports.app.service, clock: () => Date.now() + 500 * 86_400_000 });
  assert.ok(read.has("delete lines") && read.has("compare lines") && read.has("delete matched"));
  const large = [...read].filter(([, count]) => count > lines / 2);
  assert.deepEqual(large, []);
  const left = await reports.app.database.query((sql) =>
    sql`select from gateway.reconciliation_lines limit 1`
  );
  assert.equal(left.length, 0, "nothing is left");
});

Deno.test("reconciliations: lists them newest first and in pages, for staff and viewers only", async () => {
  await using reports = await openReports();
  const viewer = await reports.app.createKey({ userId: "dave", isViewer: true });
  const first = await reconcile(reports, "order_id,amount,fee\nA-1,1000,5\n");
  const second = await (await upload(reports, "order_id,amount\nA-2,1000\n")).json();
  const { differences: _, days: __, columns: ___, ...summary } = first;
  const all = await (await reports.get("/reconciliations/", viewer)).json();
  assert.deepEqual(all.map(({ id }: Json) => id), [second.id, first.id]);
  assert.deepEqual(all[1], summary);
  assert.deepEqual([all[0].status, all[0].results, all[0].user_id], ["queued", null, "carol"]);
  const page = await reports.get("/reconciliations/?limit=1", reports.staff);
  assert.deepEqual((await page.json()).map(({ id }: Json) => id), [second.id]);
  const next = page.headers.get("link")!.match(/<(.+)>/)![1]!;
  const last = await reports.get(next, reports.staff);
  assert.deepEqual((await last.json()).map(({ id }: Json) => id), [first.id]);
  assert.equal(last.headers.get("link"), null);
  await assertProblem(await reports.get("/reconciliations/"), 403, "forbidden");
  const invalid = await reports.get("/reconciliations/?cursor=x", viewer);
  await assertProblem(invalid, 400, "validation_error");
});
