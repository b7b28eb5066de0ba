import assert from "node:assert/strict";
import type { Database } from "../../db/connection/database.ts";
import { randomUUID } from "node:crypto";
import { MAX_LINES_OF_PAYMENT } from "../../core/reports/compare_line.ts";
import { listOfOtherFiles } from "../../db/reports/reconciliation_lines.ts";
import { openForCounting, rowsReadBy } from "../support/database/rows_read.ts";
import { createDatabase } from "../support/database/database.ts";
import { deleteReconciliation } from "../../core/reports/reconciliations.ts";
import { differencesOf, openReports, reconcile } from "../support/reports/reconciliations.ts";

const HEADER = "order_id,transaction_id,amount,type,refund_key,time\n";

Deno.test("reconciliation: a settlement, refund or chargeback that another file has listed is listed twice", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  const other = await reports.paid("gopay", { gross_amount: 60_000 });
  const card = await reports.paid("card", { gross_amount: 20_000 });
  await reports.sandbox.control(`transactions/${card.transaction_id}/chargeback`);
  await reports.refresh(card.id);
  await reports.post(`/payments/${paid.id}/refund/`, { amount: 7_000 });
  const { refunds } = await reports.read(paid.id);
  const lines = [
    `${paid.order_id},${paid.transaction_id},50000,settlement,,2026-03-05\n`,
    `${paid.order_id},${paid.transaction_id},7000,refund,${refunds![0]!.refund_key},2026-03-05\n`,
    `${card.order_id},${card.transaction_id},20000,chargeback,,2026-03-05\n`,
  ];
  const first = await reconcile(reports, HEADER + lines.join(""));
  assert.deepEqual([first.results.matched, first.results.listed_twice], [3, 0]);
  const unknown = `${other.order_id},${other.transaction_id},60000,settlement,,2026-03-06\n`;
  const second = await reconcile(reports, HEADER + lines.join("") + unknown);
  assert.deepEqual(differencesOf(second), [
    [2, "listed_twice"],
    [3, "listed_twice"],
    [4, "listed_twice"],
  ]);
  assert.equal(second.results.matched, 1);
  const third = await reconcile(reports, HEADER + unknown);
  assert.deepEqual(differencesOf(third), [[2, "listed_twice"]]);
});

Deno.test("reconciliation: two refunds of the same amount agree if each is in another file", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  for (let count = 0; count < 2; count++) {
    const response = await reports.post(`/payments/${paid.id}/refund/`, { amount: 7_000 });
    assert.equal(response.status, 200, await response.text());
  }
  const line = (day: string) => `order_id,amount,type,time\n${paid.order_id},7000,refund,${day}\n`;
  for (const day of ["2026-03-05", "2026-03-06"]) {
    assert.deepEqual(differencesOf(await reconcile(reports, line(day))), []);
  }
  assert.deepEqual(differencesOf(await reconcile(reports, line("2026-03-07"))), [
    [2, "listed_twice"],
  ]);
});

Deno.test("reconciliation: the status of an unpaid transaction may be in several files", async () => {
  await using reports = await openReports();
  const pending = await reports.charge("gopay", { gross_amount: 60_000 });
  for (const day of ["2026-03-05", "2026-03-06"]) {
    const file = `order_id,amount,status,time\n${pending.order_id},60000,pending,${day}\n`;
    assert.deepEqual(differencesOf(await reconcile(reports, file)), []);
  }
});

Deno.test("reconciliation: a file that was deleted is not compared with later ones", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  const file = (day: string) => `order_id,amount,time\n${paid.order_id},50000,${day}\n`;
  const { id } = await reconcile(reports, file("2026-03-05"));
  await deleteReconciliation(reports.app.database, id);
  const { results } = await reconcile(reports, file("2026-03-06"));
  assert.deepEqual([results.matched, results.listed_twice], [1, 0]);
});

Deno.test("lines of other files: are found without reading the lines of the own file, although there are no statistics", async () => {
  const databaseUrl = await createDatabase({ isNew: true });
  const database = openForCounting(databaseUrl);
  const [file, count] = [randomUUID(), 5_000];
  const ids = Array.from({ length: 50 }, () => randomUUID());
  const list = (database: Database) =>
    database.query((sql) => listOfOtherFiles(sql, file, ids, MAX_LINES_OF_PAYMENT));
  try {
    await database.query((sql) => sql`analyze gateway.reported_lines`);
    // From the sixth execution on, PostgreSQL may keep the plan of a prepared statement.
    for (let n = 0; n < 10; n++) await list(database);
    await database.query((sql) =>
      sql`insert into gateway.reported_lines
          (payment_id, reconciliation_id, line, kind, amount, result)
        select gen_random_uuid(), ${file}::uuid, n, 'settlement', 44000, 'matched'
        from generate_series(1, ${count}::int) n`
    );
    const read = await rowsReadBy(database, list);
    assert.ok(read < count, `${read} rows read`);
  } finally {
    await database.close();
  }
});
