import { parse } from "csv-parse/sync";
import assert from "node:assert/strict";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import { csvFormat, neutralize } from "../../core/reports/csv.ts";
import { createExports, EXPORT_PAGE } from "../../core/reports/export_stream.ts";
import type { Database } from "../../db/connection/database.ts";
import { callService } from "../support/client.ts";
import { serveApp } from "../support/events/event_stream.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { PROJECT } from "../support/project.ts";
import { insertPayments } from "../support/reports/insert_payments.ts";
import { environment } from "../support/service.ts";
import { isPartial, shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

async function readCsv(response: Response): Promise<Record<string, string>[]> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  // As spreadsheets do: each of these ends a row, except in quotes.
  return parse(text, { columns: true, record_delimiter: ["\r\n", "\n", "\r"], bom: true });
}

Deno.test("payment export: contains the amounts and states of the listed payments, newest first", async () => {
  await using payments = await openPayments();
  const pending = await payments.charge("bca", { gross_amount: 25_000 });
  const paid = await payments.paid("gopay", { gross_amount: 40_000 });
  const refund = await payments.post(`/payments/${paid.id}/refund/`, { amount: 15_000 });
  assert.equal(refund.status, 200, await refund.text());
  const response = await payments.get("/exports/payments/");
  assert.equal(response.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  assert.equal(
    response.headers.get("content-disposition"),
    'attachment; filename="payments.csv"',
  );
  const [first, second, ...others] = await readCsv(response);
  assert.deepEqual(others, []);
  assert.equal(second!.id, pending.id);
  const { id, gross_amount, captured_amount, refund_amount, net_amount, is_paid } = first!;
  assert.deepEqual(
    [id, gross_amount, captured_amount, refund_amount, net_amount, is_paid],
    [paid.id, "40000", "40000", "15000", "25000", "true"],
  );
  assert.equal(first!.transaction_status, "partial_refund");
  assert.equal(second!.captured_amount, "");
  assert.equal(second!.created_at, pending.created_at);
  assert.ok(!("user_id" in first!), "only staff and viewers see the owner");
});

Deno.test("refund export: contains the listed refunds, with the filters of the list", async () => {
  await using payments = await openPayments();
  const paid = await payments.paid("gopay", { gross_amount: 40_000 });
  for (const amount of [15_000, 5_000]) {
    const response = await payments.post(`/payments/${paid.id}/refund/`, { amount });
    assert.equal(response.status, 200, await response.text());
  }
  const rows = async (query = "") => await readCsv(await payments.get(`/exports/refunds/${query}`));
  assert.deepEqual(
    (await rows()).map(({ payment_id, amount, status }) => [payment_id, amount, status]),
    [[paid.id, "5000", "succeeded"], [paid.id, "15000", "succeeded"]],
  );
  assert.equal((await rows("?min_amount=10000")).length, 1);
  assert.equal((await rows("?status=pending")).length, 0);
});

Deno.test("payment export: has the filters of the list", async () => {
  await using payments = await openPayments();
  const bca = await payments.charge("bca", { order_id: "order-7" });
  const paid = await payments.paid("gopay");
  const ids = async (query: string) =>
    (await readCsv(await payments.get(`/exports/payments/?${query}`))).map(({ id }) => id);
  assert.deepEqual(await ids("payment_type=gopay"), [paid.id]);
  assert.deepEqual(await ids("status=pending"), [bca.id]);
  assert.deepEqual(await ids("order_id=order-7"), [bca.id]);
  assert.deepEqual(await ids("status=deny"), []);
  for (const query of ["limit=1", "cursor=x", "status=nonsense", "bom=yes"]) {
    const response = await payments.get(`/exports/payments/?${query}`);
    await assertProblem(response, 400, "validation_error");
  }
});

Deno.test("exports: have every filter of their lists in the document", async () => {
  await using payments = await openPayments();
  const { paths } = payments.app.document() as Json;
  const namesOf = (path: string) =>
    paths[path].get.parameters.flatMap((each: Json) => each.in === "query" ? [each.name] : []);
  for (const path of Object.keys(paths).filter((path) => path.startsWith("/exports/"))) {
    const expected = namesOf(path.replace("/exports", ""))
      .filter((name: string) => !["limit", "cursor", "q"].includes(name));
    assert.deepEqual(namesOf(path), [...expected, "bom"], path);
  }
});

Deno.test("exports: contain the caller's records; for staff and viewers, those of all users with the owner", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const viewer = await app.createKey({ userId: "dave", isViewer: true });
  const invoice = {
    customer_name: "Budi",
    due_date: "2099-12-31",
    items: [{ description: "Beans", price: 75_000, quantity: 2 }],
  };
  const charge = { payment_type: "gopay", gross_amount: 44_000 };
  for (const owner of [key, bob]) {
    assert.equal((await payments.post("/invoices/", invoice, {}, owner)).status, 201);
    const charged = await parsePayment(await payments.post("/charge/", charge, {}, owner), 201);
    await payments.sandbox.control(`transactions/${charged.transaction_id}/pay`);
    await payments.check(charged.id);
    const refund = await payments.post(`/payments/${charged.id}/refund/`, { amount: 7 }, {}, owner);
    assert.equal(refund.status, 200);
  }
  for (const path of ["/exports/payments/", "/exports/refunds/", "/exports/invoices/"]) {
    const owners = async (caller: string) =>
      (await readCsv(await app.as(caller, path))).map(({ user_id }) => user_id);
    assert.deepEqual(await owners(key), [undefined], path);
    assert.deepEqual(await owners(staff), ["bob", "alice"], path);
    assert.deepEqual(await owners(viewer), ["bob", "alice"], path);
    await assertProblem(await app.request(path), 401, "unauthenticated");
  }
  const [own] = await readCsv(await app.as(bob, "/exports/invoices/?status=sent"));
  assert.deepEqual([own!.customer_name, own!.total_amount], ["Budi", "150000"]);
});

Deno.test("payment export: quotes cells and does not let a spreadsheet run them", async () => {
  await using payments = await openPayments();
  await payments.charge("bca", {
    customer_details: {
      first_name: '=HYPERLINK("//evil.id","a,b")',
      last_name: 'O"Neil, Jr',
      phone: "+628123456789",
    },
    custom_fields: ["'quoted"],
    metadata: { note: "a\nb" },
  });
  const text = await (await payments.get("/exports/payments/")).text();
  assert.ok(text.includes(`,"'=HYPERLINK(""//evil.id"",""a,b"")","O""Neil, Jr",`), text);
  const [row] = parse(text, { columns: true }) as Record<string, string>[];
  assert.equal(row!.customer_phone, "+628123456789");
  assert.equal(row!.custom_field1, "''quoted");
  assert.deepEqual(JSON.parse(row!.metadata!), { note: "a\nb" });
});

Deno.test("exports: the audit shows who exported what", async () => {
  await using payments = await openPayments();
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  await (await payments.get("/exports/payments/")).text();
  await payments.get("/exports/payments/?status=nonsense");
  const entries = await (await payments.get("/audit/?outcome=exported", staff)).json();
  assert.deepEqual(
    entries.map(({ user_id, action, status }: Json) => [user_id, action, status]),
    [["alice", "GET /exports/payments/", 200]],
  );
});

Deno.test("CSV cell: gets an apostrophe if a spreadsheet would run it, and can be restored", () => {
  const dangerous = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "＝1",
    "+62-1",
  ];
  for (const text of dangerous) assert.equal(neutralize(text), `'${text}`);
  const harmless = ["", "Budi", "+628123456789", "+62 812 3456", "-15000", "a=b", "order-1", "1-2"];
  for (const text of harmless) assert.equal(neutralize(text), text);
  for (const text of [...dangerous, ...harmless, "'x", "''"]) {
    assert.equal(neutralize(text).replace(/^'/, ""), text);
  }
  assert.equal(neutralize("Budi;=A1; @B1;c=d; 1"), "Budi;'=A1;' @B1;c=d; 1");
});

Deno.test("invoice export: a line break in a text starts no new row, so that no formula begins there", async () => {
  await using payments = await openPayments();
  const texts = ["Thanks\n=cmd|' /C calc'!A0", "Thanks\r=1+1", "Thanks\r\n@SUM(A1)", "Thanks\r"];
  for (const notes of texts) {
    const response = await payments.post("/invoices/", {
      customer_name: "Budi",
      due_date: "2099-12-31",
      items: [{ description: "Beans", price: 75_000, quantity: 2 }],
      notes,
    });
    assert.equal(response.status, 201, await response.text());
  }
  const rows = await readCsv(await payments.get("/exports/invoices/"));
  assert.deepEqual(rows.map(({ notes }) => notes).toSorted(), texts.toSorted());
});

Deno.test("payment export: begins with a byte order mark only on request", async () => {
  await using payments = await openPayments();
  const bytes = async (query: string) =>
    new Uint8Array(await (await payments.get(`/exports/payments/${query}`)).arrayBuffer());
  assert.deepEqual([...(await bytes("?bom=true")).slice(0, 5)], [0xef, 0xbb, 0xbf, 0x69, 0x64]);
  assert.deepEqual([...(await bytes("")).slice(0, 2)], [0x69, 0x64]);
});

Deno.test("payment export: contains each payment of all pages once, and none that is created meanwhile", async () => {
  await using payments = await openPayments();
  const ids = await insertPayments(payments.app, 2 * EXPORT_PAGE + 1);
  const response = await payments.get("/exports/payments/");
  await insertPayments(payments.app, 3);
  assert.deepEqual((await readCsv(response)).map(({ id }) => id), ids);
});

Deno.test("payment export: resets the connection if a page cannot be read", async () => {
  let reads = 0;
  await using payments = await openPayments({
    wrapDatabase: (database): Database => ({
      ...database,
      query(work, name) {
        if (name === "read export" && ++reads === 2) throw new Error("disk on fire");
        return database.query(work, name);
      },
    }),
  });
  await insertPayments(payments.app, 3 * EXPORT_PAGE);
  await using server = serveApp(payments.app);
  const response = await callService(`${server.url}/exports/payments/`, {
    headers: { Authorization: `Bearer ${payments.key}` },
  });
  assert.equal(response.status, 200);
  await assert.rejects(response.text());
  const failures = payments.app.logged().filter(({ event }) => event === "export_failed");
  assert.equal(failures.length, 1);
});

Deno.test("payment export: is cut after its API key is revoked; one query per further page checks the key", async () => {
  const queries = { "read export": 0, "check key of export": 0 };
  await using payments = await openPayments({
    wrapDatabase: (database): Database => ({
      ...database,
      query(work, name) {
        if (name === "read export" || name === "check key of export") queries[name]++;
        return database.query(work, name);
      },
    }),
  });
  const { app, key } = payments;
  const ids = await insertPayments(app, 4 * EXPORT_PAGE);
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const whole = await app.as(await app.createKey(), "/exports/payments/");
  assert.equal((await readCsv(whole)).length, ids.length);
  assert.deepEqual(queries, { "read export": 4, "check key of export": 3 });
  const cut = await app.as(key, "/exports/payments/");
  await app.as(staff, `/keys/${displayPrefix(key)}/`, { method: "DELETE" });
  await assert.rejects(cut.text());
  assert.equal(queries["read export"], 5, "only the first page was read");
  const failures = app.logged().filter(({ event }) => event === "export_failed");
  assert.equal(failures.length, 1);
  assert.match(JSON.stringify(failures), /its API key was revoked/);
});

Deno.test("payment export: a failure cuts the chunked body, and an HTTP client of any kind notices", async () => {
  let readsUntilFailure = Infinity;
  await using payments = await openPayments({
    wrapDatabase: (database): Database => ({
      ...database,
      query(work, name) {
        if (name === "read export" && --readsUntilFailure === 0) throw new Error("disk on fire");
        return database.query(work, name);
      },
    }),
  });
  await insertPayments(payments.app, 3 * EXPORT_PAGE);
  await using server = serveApp(payments.app);
  /** All bytes of the response. */
  const download = async () => {
    const { hostname, port } = new URL(server.url);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const request = `GET /exports/payments/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
      `Authorization: Bearer ${payments.key}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(65_536);
    let text = "";
    for (;;) {
      const n = await connection.read(buffer).catch(() => null);
      if (n === null) return text;
      text += decoder.decode(buffer.subarray(0, n), { stream: true });
    }
  };
  const whole = await download();
  assert.match(whole, /^HTTP\/1\.1 200[^]*transfer-encoding: chunked/);
  assert.ok(whole.endsWith("\r\n0\r\n\r\n"), "a complete file ends with the last chunk");
  readsUntilFailure = 2;
  const cut = await download();
  assert.match(cut, /^HTTP\/1\.1 200/);
  assert.ok(!cut.endsWith("\r\n0\r\n\r\n"), "a cut file has no last chunk");
  assert.ok(cut.length < whole.length);
});

Deno.test({
  name: "payment export: uses as much memory after 50,000 rows as after 5,000",
  // Only with `--full`: fewer rows would be lost in the noise of the measurement.
  ignore: isPartial,
  async fn() {
    const count = 50_000;
    await using payments = await openPayments();
    for (let inserted = 0; inserted < count; inserted += 2_000) {
      await insertPayments(payments.app, 2_000, "alice", `o-${inserted}`);
    }
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-q", "--no-lock", "-P=test", "--v8-flags=--expose-gc"],
        "tests/support/reports/export_memory.ts",
        ...[payments.databaseUrl, payments.key, String(count)],
      ],
      env: environment({}),
      clearEnv: true,
      cwd: PROJECT,
      stdin: "null",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    const { rows, usedBytes } = JSON.parse(new TextDecoder().decode(stdout));
    assert.equal(rows, count);
    assert.equal(usedBytes.length, 10);
    // A row that stays in memory takes some hundred bytes.
    const perRow = (usedBytes.at(-1) - usedBytes[0]) / (count * 9 / 10);
    assert.ok(perRow < 20, `${perRow} bytes per row: ${usedBytes}`);
  },
});

Deno.test("payment export: for a reader that stops reading, it holds no connection and reads no further page", async () => {
  let reads = 0;
  await using payments = await openPayments({
    poolSize: 1,
    wrapDatabase: (database): Database => ({
      ...database,
      query(work, name) {
        if (name === "read export") reads++;
        return database.query(work, name);
      },
    }),
  });
  await insertPayments(payments.app, 4 * EXPORT_PAGE);
  const response = await payments.get("/exports/payments/");
  const reader = response.body!.getReader();
  await reader.read();
  await reader.read();
  assert.equal((await payments.get("/payments/?limit=1")).status, 200);
  assert.ok(reads <= 2, `${reads} pages were read`);
  await reader.cancel();
});

Deno.test("exports: a caller can have three at a time, and HEAD opens none", async () => {
  await using payments = await openPayments();
  const send = (method = "GET") => payments.app.as(payments.key, "/exports/payments/", { method });
  for (let count = 0; count < 5; count++) await (await send("HEAD")).body?.cancel();
  const open = [await send(), await send(), await send()];
  await assertProblem(await send(), 429, "rate_limited");
  const bob = await payments.app.createKey({ userId: "bob" });
  await (await payments.app.as(bob, "/exports/payments/")).text();
  await open[0]!.text();
  await open[1]!.body!.cancel();
  assert.equal((await (await send()).text()).split("\r\n").length, 2);
  await open[2]!.text();
});

Deno.test("export: is aborted, and makes room, if the reader reads nothing for too long", async () => {
  await using payments = await openPayments();
  const exports = createExports(payments.app.service, { perCaller: 1, total: 1, stallMs: 20 });
  const caller = {
    userId: "a",
    isStaff: false,
    isViewer: false,
    credential: "api_key",
    keyPrefix: null,
  } as const;
  const stream = await exports.open(caller, {
    columns: ["id"],
    readPage: () => Promise.resolve({ rows: [["1"]], next: null }),
  }, csvFormat({ hasByteOrderMark: false }));
  assert.throws(() => exports.admit(caller), { code: "rate_limited" });
  await until("the export is aborted", () => {
    try {
      exports.admit(caller);
      return true;
    } catch {
      return false;
    }
  });
  await assert.rejects(new Response(stream).text());
});

Deno.test("export: reads one page at a time, however many there are, and skips empty ones", async () => {
  await using payments = await openPayments();
  const exports = createExports(payments.app.service);
  const caller = {
    userId: "a",
    isStaff: false,
    isViewer: false,
    credential: "api_key",
    keyPrefix: null,
  } as const;
  const pages = shareOf(2_000);
  let readPages = 0;
  const stream = await exports.open<number>(caller, {
    columns: ["id"],
    readPage(after) {
      readPages++;
      const number = (after ?? 0) + 1;
      const isEmpty = number % 3 === 0;
      return Promise.resolve({
        rows: isEmpty ? [] : Array.from({ length: EXPORT_PAGE }, (_, row) => [`${number}-${row}`]),
        next: number === pages ? null : number,
      });
    },
  }, csvFormat({ hasByteOrderMark: false }));
  let lines = 0;
  let takenPages = -1;
  let mostAhead = 0;
  for await (const chunk of stream) {
    lines += new TextDecoder().decode(chunk).split("\r\n").length - 1;
    takenPages++;
    mostAhead = Math.max(mostAhead, readPages - takenPages * 1.5);
  }
  assert.equal(lines, 1 + (pages - Math.floor(pages / 3)) * EXPORT_PAGE);
  assert.ok(mostAhead <= 3, `${mostAhead} pages were read ahead`);
});
