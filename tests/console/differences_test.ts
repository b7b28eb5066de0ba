import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type Browsing, formsOf, openTab, signInTo } from "../support/console/browsing.ts";
import { compareReport } from "../support/console/reconciliations.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments } from "../support/payments/payments.ts";

const EVIL = `<img src=x onerror=alert(1)>`;

/** A compared report with the differences `A-1`, `B-2` and one with a text of an attacker. */
async function openDifferences() {
  const payments = await openPayments({ databaseUrl: await createDatabase() });
  const { app } = payments;
  const key = await app.createKey({ userId: "fina", isStaff: true });
  const uploaded = await app.as(key, "/reconciliations/", {
    method: "POST",
    body: `order_id,amount\nA-1,1000\nB-2,2000\n${EVIL},3000\n`,
    headers: { "Content-Type": "text/csv" },
  });
  const { id } = await uploaded.json();
  await compareReport(app, id);
  const staff = await signInTo(app, key);
  const path = `/console/reconciliations/${id}/`;
  await staff.open(path);
  return Object.assign(payments, { staff, path });
}

/** Presses the button of a row on the current page; `line` is the line of the file. */
async function press({ page, post }: Browsing, path: string, action: string, line: number) {
  const form = formsOf(page.html).find((each) => each.action === `${path}check/`)!;
  return await post(`${path}${action}/`, { ...form.fields, difference: String(line) });
}

/** The order ids in the table. */
function rowsOf(html: string): string[] {
  return [...html.matchAll(/<tr><td class="amount">\d+<\/td><td>[^<]*<\/td><td>([^<]+)</g)]
    .map(([, order]) => order!);
}

Deno.test("console differences: are marked as done with who and when, filtered, counted, and opened again", async () => {
  await using opened = await openDifferences();
  const { staff, path } = opened;
  assert.equal(rowsOf(staff.page.html).length, 3);
  assert.match(staff.page.html, /Open \(3\).*Done \(0\).*All \(3\)/s);
  const undone = await staff.open(`${path}?state=done&result=missing_here`);
  assert.match(undone.html, /No difference is marked as done/);
  await staff.open(path);
  assert.match(staff.page.html, /formaction="[^"]+\/resolve\/"[^>]*name="difference"/);

  const marked = await press(staff, path, "resolve", 2);
  assert.match(marked.html, /role="status"[^>]*>A-1 is marked as done\./);
  assert.equal(rowsOf(marked.html).length, 2, "open ones are shown at first");
  assert.match(marked.html, /Open \(2\).*Done \(1\)/s);
  const done = await staff.open(`${path}?state=done`);
  assert.deepEqual(rowsOf(done.html), ["A-1"]);
  assert.match(done.html, /Done by fina, <time datetime="[^"]+"/);
  assert.match(done.html, /formaction="[^"]+\/reopen\/"/);
  assert.equal(rowsOf((await staff.open(`${path}?state=all`)).html).length, 3);
  const none = await staff.open(`${path}?state=done&result=amount_differs`);
  assert.match(none.html, /No differences/);
  assert.match((await staff.open("/console/reconciliations/")).html, /Has differences/);

  await staff.open(`${path}?state=done`);
  const reopened = await press(staff, path, "reopen", 2);
  assert.match(reopened.html, /A-1 is open again\./);
  assert.match(reopened.path, /state=done/, "the filter stays");
  assert.match(reopened.html, /Open \(3\)/);

  await staff.open(path);
  for (const line of [2, 3, 4]) await press(staff, path, "resolve", line);
  const { html } = await staff.open(path);
  assert.match(html, /class="status settlement">All done/);
  assert.match(html, /No open differences/);
  const list = await staff.open("/console/reconciliations/");
  assert.match(list.html, /<td class="amount">3<\/td><td class="amount">0<\/td>.*All done/s);
});

Deno.test("console differences: a status of the report has its name in the language of the page", async () => {
  await using opened = await openDifferences();
  const { app, staff } = opened;
  const key = await app.createKey({ userId: "fina", isStaff: true });
  const uploaded = await app.as(key, "/reconciliations/", {
    method: "POST",
    body: "order_id,amount,status\nC-3,1000,settlement\n",
    headers: { "Content-Type": "text/csv" },
  });
  const { id } = await uploaded.json();
  await compareReport(app, id);
  const path = `/console/reconciliations/${id}/`;
  assert.match((await staff.open(path)).html, /Rp 1\.000<small>Paid<\/small>/);
  const indonesian = await staff.open(path, { "accept-language": "id" });
  assert.match(indonesian.html, /Rp 1\.000<small>Lunas<\/small>/);
});

Deno.test("console differences: of two tabs, the second one changes nothing and says who was first", async () => {
  await using opened = await openDifferences();
  const { app, staff, path, databaseUrl } = opened;
  const other = await signInTo(app, await app.createKey({ userId: "omar", isStaff: true }));
  await other.open(path);
  const tab = openTab(app, staff);
  await tab.open(path);
  await press(staff, path, "resolve", 2);
  for (const late of [other, tab]) {
    const { html } = await press(late, path, "resolve", 2);
    assert.match(html, /A-1 was already marked as done by fina, .+\. Nothing was changed\./);
    assert.match(html, /Open \(2\)/);
  }
  await other.open(`${path}?state=done`);
  await tab.open(`${path}?state=done`);
  await press(other, path, "reopen", 2);
  const late = await press(tab, path, "reopen", 2);
  assert.match(late.html, /A-1 was already open\. Nothing was changed\./);
  await app.audit.flush();
  const audit = await runSql(
    databaseUrl,
    `select user_id, action from gateway.audit
    where action ~ '/(resolve|reopen)/$' order by id`,
  );
  assert.deepEqual([...audit], [
    { user_id: "fina", action: "POST /console/reconciliations/{id}/resolve/" },
    { user_id: "omar", action: "POST /console/reconciliations/{id}/reopen/" },
  ]);
});

Deno.test("console differences: the overview counts open ones only", async () => {
  await using opened = await openDifferences();
  const { staff, path } = opened;
  const entry = async () => {
    const { html } = await staff.open("/console/");
    return html.split("<li>").find((each) => each.includes(`href="${path}"`));
  };
  assert.match((await entry())!, />3</);
  await staff.open(path);
  await press(staff, path, "resolve", 3);
  assert.match((await entry())!, />2</);
  await staff.open(path);
  for (const line of [2, 4]) await press(staff, path, "resolve", line);
  assert.equal(await entry(), undefined);
});

Deno.test("console differences: viewers see who is done with them and mark none; texts are shown as text", async () => {
  await using opened = await openDifferences();
  const { app, staff, path } = opened;
  const { token: own } = formsOf(staff.page.html)[0]!.fields;
  const marked = await press(staff, path, "resolve", 4);
  assert.match(marked.html, /&lt;img src=x onerror=alert\(1\)&gt; is marked as done/);
  const indonesian = await staff.open(`${marked.path}`, { "accept-language": "id" });
  assert.match(indonesian.html, /ditandai selesai/);
  for (const { html } of [marked, indonesian]) assert.doesNotMatch(html, /<img/);
  const viewer = await signInTo(app, await app.createKey({ userId: "vera", isViewer: true }));
  const { html } = await viewer.open(`${path}?state=all`);
  assert.match(html, /Done by fina/);
  assert.doesNotMatch(html, /formaction|name="difference"/);
  const { token } = formsOf(html)[0]!.fields;
  for (const action of ["resolve", "reopen"]) {
    const sent = await viewer.post(`${path}${action}/`, { token: token!, difference: "2" });
    assert.equal(sent.status, 403);
  }
  for (const difference of ["99", "x", ""]) {
    const sent = await staff.post(`${path}resolve/`, { token: own!, difference });
    assert.equal(sent.status, 404);
  }
  assert.match((await staff.open(path)).html, /Open \(2\)/);
});

Deno.test("console differences: staff take over one that is missing here, or all, after a confirmation", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const { app, sandbox } = payments;
  const key = await app.createKey({ userId: "fina", isStaff: true });
  const [first, second] = await Promise.all(
    ["gopay", "gopay"].map(() =>
      sandbox.paid("gopay", { transaction_details: { order_id: randomUUID() } })
    ),
  );
  const orders = [first, second].map(({ order_id }) => `${order_id},44000\n`);
  const uploaded = await app.as(key, "/reconciliations/", {
    method: "POST",
    body: `order_id,amount\nA-1,1000\n${orders.join("")}`,
    headers: { "Content-Type": "text/csv" },
  });
  const { id } = await uploaded.json();
  await compareReport(app, id);
  const staff = await signInTo(app, key);
  const path = `/console/reconciliations/${id}/`;
  const { html } = await staff.open(path);
  assert.match(html, new RegExp(`href="${path}take-over/"`));
  assert.match(html, new RegExp(`href="${path}take-over/\\?difference=3"`));

  const confirm = await staff.open(`${path}take-over/?difference=3`);
  assert.match(confirm.html, new RegExp(first.order_id));
  assert.match(confirm.html, /asks the gateway for the transaction/);
  const taken = await staff.submit(/take-over/, {});
  assert.match(taken.html, new RegExp(`${first.order_id} is taken over and marked as done`));
  assert.match(taken.html, /Open \(2\)/);
  const done = await staff.open(`${path}?state=done`);
  assert.match(done.html, /Done by fina/);
  assert.match(done.html, new RegExp(`/console/payments/[0-9a-f-]{36}/">${first.order_id}<`));
  assert.doesNotMatch(done.html, /take-over/, "none that is done");

  await staff.open(`${path}take-over/?difference=2`);
  const refused = await staff.submit(/take-over/, {});
  assert.equal(refused.status, 400);
  assert.match(refused.html, /role="alert"[^>]*>[^<]*The gateway has no transaction A-1/);
  const indonesian = await staff.post(
    `${path}take-over/`,
    formsOf(refused.html).find(({ action }) => action.endsWith("/take-over/"))!.fields,
    { "accept-language": "id" },
  );
  assert.match(indonesian.html, /Gateway tidak memiliki transaksi A-1/);

  await staff.open(`${path}take-over/`);
  const queued = await staff.submit(/take-over/, {});
  assert.match(queued.html, /A job takes over the transactions/);
  await runDueJobs(app);
  const { html: left } = await staff.open(path);
  assert.match(left, /Open \(1\).*Done \(2\)/s);
  assert.match(left, /A-1/);
  await app.audit.flush();
  const audit = await runSql(
    payments.databaseUrl,
    `select user_id from gateway.audit
    where action = 'POST /console/reconciliations/{id}/take-over/' and status = 303 order by id`,
  );
  assert.deepEqual(audit.map(({ user_id }) => user_id), ["fina", "fina"]);

  const viewer = await signInTo(app, await app.createKey({ userId: "vera", isViewer: true }));
  assert.doesNotMatch((await viewer.open(path)).html, /take-over/);
  assert.equal((await viewer.open(`${path}take-over/`)).status, 403);
  const { token } = formsOf((await viewer.open(path)).html)[0]!.fields;
  const forged = await viewer.post(`${path}take-over/`, { token: token!, difference: "2" });
  assert.equal(forged.status, 403);
  for (const wrong of ["99", "x"]) {
    assert.equal((await staff.open(`${path}take-over/?difference=${wrong}`)).status, 404);
  }
});

const DIFFERENCE_HEADER = "line,result,kind,order_id,transaction_id,amount,status,date," +
  "payment_id,refund_id,known_amount,known_status,resolved_at,resolved_by";

Deno.test("console differences: the CSV file has all chosen differences, also those that are listed twice", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const { app } = payments;
  const key = await app.createKey({ userId: "fina", isStaff: true });
  const paid = await payments.paid("gopay", { gross_amount: 50_000 });
  const uploaded = await app.as(key, "/reconciliations/", {
    method: "POST",
    body: `order_id,amount\n${`${paid.order_id},50000\n`.repeat(700)}=1+1,3000\n`,
    headers: { "Content-Type": "text/csv" },
  });
  const { id } = await uploaded.json();
  await compareReport(app, id);
  const viewer = await signInTo(app, await app.createKey({ userId: "auditor", isViewer: true }));
  const path = `/console/reconciliations/${id}/`;
  async function exportFrom(search: string): Promise<string[][]> {
    const { html } = await viewer.open(`${path}${search}`);
    const [, link] = html.match(new RegExp(`href="(${path}export/[^"]*)"[^>]*>CSV`))!;
    const file = await viewer.open(link!.replaceAll("&amp;", "&"));
    assert.match(file.headers.get("content-disposition")!, /reconciliation_[0-9a-f-]+_differences/);
    return file.html.trimEnd().split("\r\n").map((row) => row.split(","));
  }
  const [header, ...rows] = await exportFrom("?result=listed_twice&cursor=600");
  assert.equal(header!.join(), DIFFERENCE_HEADER);
  assert.equal(rows.length, 699, "also those of the other pages");
  assert.equal(
    rows[0]!.join(),
    `3,listed_twice,settlement,${paid.order_id},,50000,,,${paid.id},,50000,settlement,,`,
  );
  const all = await exportFrom("");
  assert.equal(all.length, 701);
  assert.deepEqual(all.at(-1)!.slice(0, 4), ["702", "missing_here", "settlement", "'=1+1"]);
  const staff = await signInTo(app, key);
  await staff.open(`${path}?result=missing_here`);
  await press(staff, path, "resolve", 702);
  assert.deepEqual((await exportFrom("?state=done")).map(([line]) => line).slice(1), ["702"]);
  assert.equal((await exportFrom("?state=open")).length, 700);
  const entries = await (await payments.get("/audit/?outcome=exported", key)).json();
  assert.equal(entries[0].action, "GET /console/reconciliations/{id}/export/");
  assert.equal(entries.length, 4);
});
