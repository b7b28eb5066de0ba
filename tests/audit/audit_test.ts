import assert from "node:assert/strict";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import { scanCharges } from "../../db/reports/audit.ts";
import { MAX, NIL } from "uuid";
import { PUBLIC_URL } from "../support/checkouts/checkouts.ts";
import { createDatabase } from "../support/database/database.ts";
import { type Json, savedCard } from "../support/gateway/sandbox.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

interface Audited extends TestPayments {
  staff: string;
  viewer: string;
  /** The audit entries, newest first, after all refusals are stored. */
  audit(query?: string, key?: string): Promise<Json[]>;
}

async function openAudited(options = {}): Promise<Audited> {
  const payments = await openPayments(options);
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  return {
    ...payments,
    staff,
    viewer: await payments.app.createKey({ userId: "vera", isViewer: true }),
    async audit(query = "", key = staff) {
      await payments.app.audit.flush();
      const response = await payments.get(`/audit/${query}`, key);
      assert.equal(response.status, 200, await response.clone().text());
      return await response.json();
    },
  };
}

const actorOf = (key: string) => `api_key:${displayPrefix(key)}`;

const short = ({ action, outcome, status, code }: Json) =>
  [action, outcome, status, code].filter((each) => each !== null).join(" ");

Deno.test("audit: records a charge, an action and a refused action with their actor and resource", async () => {
  await using payments = await openAudited();
  const { key, staff } = payments;
  const { id } = await payments.charge();
  await payments.post(`/payments/${id}/cancel/`, {}, { "X-Request-Id": "first" }, staff);
  await payments.post(`/payments/${id}/expire/`, {}, { "X-Request-Id": "second" });
  const entries = await payments.audit();
  assert.deepEqual(entries.map(short), [
    "POST /payments/{pk}/expire/ refused 400 invalid_state",
    "POST /payments/{pk}/cancel/ changed 200",
    "POST /charge/ changed",
  ]);
  assert.deepEqual(entries.map(({ actor }) => actor), [key, staff, key].map(actorOf));
  assert.deepEqual(entries.map(({ user_id }) => user_id), ["alice", "ops", "alice"]);
  for (const { resource_id } of entries) assert.equal(resource_id, id);
  assert.deepEqual(entries.map(({ request_id }) => request_id), ["second", "first", null]);
  assert.deepEqual(await payments.audit("", payments.viewer), entries, "viewers see the same");
  await assertProblem(await payments.get("/audit/"), 403, "forbidden");
});

Deno.test("audit: every operation that changes something leaves an entry with the actor", async () => {
  await using payments = await openAudited({ env: { PUBLIC_URL } });
  const { app, post, staff, sandbox } = payments;
  const create = async (path: string, body: Json) => {
    const response = await post(path, body, {}, staff);
    assert.ok(response.ok, await response.clone().text());
    return await response.json();
  };
  const checkout = await create("/checkouts/", { gross_amount: 150_000 });
  const invoice = await create("/invoices/", {
    customer_name: "Budi",
    due_date: "2099-12-31",
    items: [{ description: "Beans", price: 75_000, quantity: 1 }],
  });
  const subscription = await create("/subscriptions/", {
    name: "coffee-club",
    amount: 150_000,
    payment_type: "credit_card",
    token: await savedCard(sandbox),
    interval: 1,
    interval_unit: "month",
  });
  const endpoint = await create("/webhook-endpoints/", { url: "https://shop.example/" });
  const created = await create("/keys/", { user_id: "bob" });
  const job = await (await post(
    "/charge/",
    { payment_type: "gopay", gross_amount: 44_000 },
    { Prefer: "respond-async" },
    staff,
  )).json();
  const ids: Record<string, string> = {
    payments: (await payments.charge()).id,
    reviews: (await payments.charge()).id,
    checkouts: checkout.id,
    invoices: invoice.id,
    subscriptions: subscription.id,
    "webhook-endpoints": endpoint.id,
    jobs: job.id,
    notifications: crypto.randomUUID(),
    refunds: crypto.randomUUID(),
    reconciliations: crypto.randomUUID(),
  };
  const operations = Object.entries(app.document().paths!).flatMap(([path, methods]) =>
    Object.entries<Json>(methods!)
      .filter(([method, { security }]) => method !== "get" && security?.length !== 0)
      .map(([method]) => ({ method: method.toUpperCase(), path }))
  );
  assert.ok(operations.length >= 20, `${operations.length} operations`);
  for (const { method, path } of operations) {
    const pk = ids[path.split("/")[1]!] ?? "";
    const url = path.replace("{pk}", pk).replace("{prefix}", created.prefix)
      .replace("{action_name}", "disable").replace("{delivery_id}", crypto.randomUUID())
      .replace("{difference_id}", "1");
    const hasBody = method !== "DELETE";
    const response = await app.as(staff, url, {
      method,
      ...hasBody && { body: "{}", headers: { "Content-Type": "application/json" } },
    });
    const action = `${method} ${path.replace("{action_name}", "disable")}`;
    const [entry] = await payments.audit(`?actor=${actorOf(staff)}&limit=1`);
    assert.equal(entry!.action, action);
    assert.equal(entry!.status, response.status, action);
    assert.equal(entry!.outcome, response.ok ? "changed" : "refused", action);
    if (path.includes("{pk}")) assert.equal(entry!.resource_id, pk, action);
    await response.body?.cancel();
  }
  const byAction = (action: string, outcome = "changed") => (entries: Json[]) =>
    entries.find((each) => each.action === action && each.outcome === outcome);
  const all = await payments.audit(`?actor=${actorOf(staff)}&limit=100`);
  assert.equal(byAction("POST /checkouts/")(all)!.resource_id, checkout.id);
  assert.equal(byAction("POST /checkouts/{pk}/cancel/")(all)!.resource_id, checkout.id);
  assert.equal(byAction("POST /invoices/")(all)!.resource_id, invoice.id);
  assert.equal(byAction("POST /keys/")(all)!.resource_id, created.prefix);
  assert.equal(byAction("DELETE /keys/{prefix}/")(all)!.resource_id, created.prefix);
  assert.deepEqual(
    [byAction("POST /charge/")(all)!.status, byAction("POST /charge/")(all)!.resource_id],
    [202, job.id],
  );
});

Deno.test("audit: permitted reads, checks, replays and requests without a valid credential leave no entry", async () => {
  await using payments = await openAudited();
  const { id } = await payments.charge();
  const before = await payments.audit();
  await payments.get(`/payments/${id}/`);
  await payments.get(`/payments/${crypto.randomUUID()}/`);
  await payments.get(`/payments/${id}/check_status/`);
  await payments.app.request("/charge/", { method: "POST" });
  assert.deepEqual(await payments.audit(), before);
  const key = { "Idempotency-Key": "k-1" };
  for (let i = 0; i < 2; i++) await payments.post(`/payments/${id}/cancel/`, {}, key);
  assert.equal((await payments.audit()).length, before.length + 1);
});

Deno.test("audit: the outcome of a charge is refused if the gateway refused it or the service did not store it", async () => {
  await using payments = await openAudited();
  const body = { payment_type: "gopay", gross_amount: 44_000, order_id: "once" };
  assert.equal((await payments.post("/charge/", body)).status, 201);
  await assertProblem(await payments.post("/charge/", body), 400, "duplicate_order");
  await assertProblem(await payments.post("/charge/", {}), 400, "validation_error");
  assert.deepEqual((await payments.audit("?outcome=refused")).map(short).sort(), [
    "POST /charge/ refused 400 duplicate_order",
    "POST /charge/ refused 400 validation_error",
  ]);
  const { id } = await payments.charge();
  await payments.app.database.query((sql) =>
    sql`update gateway.payments set is_refused = true where id = ${id}`
  );
  const [refused] = await payments.audit(`?resource_id=${id}`);
  assert.equal(refused!.outcome, "refused");
});

Deno.test("audit: records a refused change by a viewer, and a refused read by a user", async () => {
  await using payments = await openAudited();
  const { id } = await payments.charge();
  await payments.post(`/payments/${id}/refund/`, {}, {}, payments.viewer);
  await payments.get("/keys/");
  assert.deepEqual((await payments.audit("?outcome=refused")).map(short), [
    "GET /keys/ refused 403 forbidden",
    "POST /payments/{pk}/refund/ refused 403 forbidden",
  ]);
});

/** How often refusals are stored. */
const FLUSH_MS = 2_000;

Deno.test("audit: a flood of refused requests is stored in few rows", async () => {
  await using payments = await openAudited({
    databaseUrl: await createDatabase(),
  });
  const { app } = payments;
  const begin = performance.now();
  await Promise.all(Array.from({ length: 300 }, async () => {
    await payments.get(`/notifications/`);
    // Each request names a different resource, as an attacker's requests would.
    await payments.post(`/reviews/${crypto.randomUUID()}/approve/`, {});
  }));
  await app.audit.flush();
  const flushes = Math.ceil((performance.now() - begin) / FLUSH_MS) + 1;
  const overflow = app.logged().filter(({ event }) => event === "audit_overflow");
  assert.ok(overflow.length > 0);
  const [stored] = await app.database.query((sql) =>
    sql`select count(*)::int as rows, sum(attempts)::int as attempts,
        sum(attempts) filter (where action = 'GET /notifications/')::int as repeated
      from gateway.audit`
  );
  // On a slow machine, the requests are stored in several parts.
  assert.ok(stored!.rows <= 40 * flushes, `${stored!.rows} rows`);
  assert.equal(stored!.repeated, 300);
  const unrecorded = overflow.reduce((sum, each) => sum + Number(each.unrecorded), 0);
  assert.equal(stored!.attempts + unrecorded, 600);
});

Deno.test("audit: a flush waits for the refusals that an earlier flush is storing", async () => {
  await using payments = await openAudited();
  await payments.get("/notifications/");
  const ended: string[] = [];
  await Promise.all(
    ["first", "second"].map((name) => payments.app.audit.flush().then(() => ended.push(name))),
  );
  assert.deepEqual(ended, ["first", "second"]);
});

Deno.test("audit: if an entry cannot be written, the caller still gets the response, and the log has the entry", async () => {
  await using payments = await openAudited();
  const { id } = await payments.charge();
  await payments.app.database.query((sql) => sql`alter table gateway.audit rename to elsewhere`);
  const response = await payments.post(`/payments/${id}/cancel/`, {});
  assert.equal(response.status, 200);
  const [failure] = payments.app.logged().filter(({ event }) => event === "audit_failed");
  assert.deepEqual(
    [failure!.action, failure!.resource_id, failure!.actor],
    ["POST /payments/{pk}/cancel/", id, actorOf(payments.key)],
  );
});

Deno.test("audit: filters by actor, resource, outcome and time", async () => {
  let aheadMs = 0;
  await using payments = await openAudited({ now: () => Date.now() + aheadMs });
  const { key, staff } = payments;
  const [first, second] = [await payments.charge(), await payments.charge()];
  aheadMs = 60_000;
  await payments.post(`/payments/${first.id}/cancel/`, {}, {}, staff);
  await payments.post(`/payments/${first.id}/cancel/`, {}, {});
  const found = async (query: string) => (await payments.audit(query)).map(short);
  assert.deepEqual(await found(`?actor=${actorOf(staff)}`), [
    "POST /payments/{pk}/cancel/ changed 200",
  ]);
  assert.equal((await found(`?actor=${actorOf(key)}`)).length, 3);
  assert.deepEqual(await found("?actor=api_key:gk_nosuchky"), []);
  assert.deepEqual(await found(`?resource_id=${second.id.toUpperCase()}`), [
    "POST /charge/ changed",
  ]);
  assert.equal((await found(`?resource_id=${first.id}`)).length, 3);
  assert.equal((await found(`?resource_id=${first.id}&outcome=changed`)).length, 2);
  assert.equal((await found(`?resource_id=${first.id}&actor=${actorOf(staff)}`)).length, 1);
  assert.equal((await found("?outcome=refused")).length, 1);
  assert.equal((await found("?outcome=exported")).length, 0);
  const time = new Date(Date.now() + 30_000).toISOString();
  assert.equal((await found(`?created_from=${time}`)).length, 2);
  assert.equal((await found(`?created_to=${time}`)).length, 2);
});

Deno.test("audit: pages contain every entry once, and sort entries of charges together with the others", async () => {
  await using payments = await openAudited();
  for (let i = 0; i < 3; i++) {
    const { id } = await payments.charge();
    await payments.post(`/payments/${id}/cancel/`, {});
  }
  const all = (await payments.audit()).map(({ id }) => id);
  assert.equal(all.length, 6);
  const seen: string[] = [];
  let next: string | undefined = `/audit/?limit=2&actor=${actorOf(payments.key)}`;
  while (next) {
    const response: Response = await payments.get(next, payments.staff);
    seen.push(...(await response.json()).map(({ id }: Json) => id));
    next = response.headers.get("Link")?.match(/<(.*)>/)?.[1];
  }
  assert.deepEqual(seen, all);
});

Deno.test("audit: reads a limited number of payments for a page, and says where to continue", async () => {
  await using payments = await openAudited();
  for (let i = 0; i < 4; i++) await payments.charge();
  await payments.app.database.query((sql) =>
    sql`update gateway.payments set created_by = null
      where id <> (select id from gateway.payments order by id limit 1)`
  );
  const filter = { actor: null, outcome: null, first: NIL, end: MAX, limit: 10 };
  const scan = (end: string) =>
    payments.app.database.query((sql) => scanCharges(sql, { ...filter, end }, null, 3));
  const page = await scan(MAX);
  assert.deepEqual(page.charges, []);
  assert.ok(page.scannedTo);
  const rest = await scan(page.scannedTo);
  assert.deepEqual([rest.charges.length, rest.scannedTo], [1, null]);
});

Deno.test("audit: entries older than the retention are not shown", async () => {
  let aheadMs = 0;
  await using payments = await openAudited({
    now: () => Date.now() + aheadMs,
    env: { KEEP_AUDIT_DAYS: "10" },
  });
  await payments.charge();
  assert.equal((await payments.audit()).length, 1);
  aheadMs = 11 * 24 * 60 * 60_000;
  assert.deepEqual(await payments.audit(), []);
});
