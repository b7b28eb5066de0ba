import assert from "node:assert/strict";
import { createRoute } from "@hono/zod-openapi";
import { updateStats } from "../../core/reports/count_payments.ts";
import { createRouter } from "../../http/router.ts";
import { openApp } from "../support/app.ts";
import { PUBLIC_URL } from "../support/checkouts/checkouts.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { buildNotification } from "../support/gateway/notifications.ts";
import { type Json, savedCard } from "../support/gateway/sandbox.ts";
import { assertProblem } from "../support/problem.ts";

interface Operation {
  method: string;
  /** The path in the document. */
  path: string;
  /** The path with the ids of existing resources. */
  url: string;
}

interface World extends RelayedPayments {
  staff: string;
  viewer: string;
  operations: Operation[];
}

/** One resource of each kind, and every operation of the document that needs a credential. */
async function openWorld(): Promise<World> {
  const payments = await openRelayed({ env: { PUBLIC_URL } });
  const { app, post, sandbox } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const viewer = await app.createKey({ userId: "vera", isViewer: true });
  const create = async (path: string, body: Json, key?: string, headers?: HeadersInit) => {
    const response = await post(path, body, headers, key);
    assert.ok(response.ok, await response.clone().text());
    return await response.json();
  };
  const charge = { payment_type: "gopay", gross_amount: 44_000 };
  const payment = await create("/charge/", charge);
  const job = await create("/charge/", charge, payments.key, { Prefer: "respond-async" });
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
  const checkout = await create("/checkouts/", { gross_amount: 150_000 });
  const { refund } = await create(`/payments/${(await payments.paid()).id}/refund/`, {});
  const endpoint = await create("/webhook-endpoints/", { url: "https://shop.example/" }, staff);
  const received = await payments.post("/notification/", buildNotification(payment, "pending"));
  const { notification_id } = await received.json();
  const { prefix } = await create("/keys/", { user_id: "bob" }, staff);
  const uploaded = await app.as(staff, "/reconciliations/", {
    method: "POST",
    body: "order_id,amount\nA-1,1000\n",
    headers: { "Content-Type": "text/csv" },
  });
  const reconciliation = await uploaded.json();
  await updateStats(app.service);
  const ids: Record<string, string> = {
    payments: payment.id,
    reviews: payment.id,
    jobs: job.id,
    invoices: invoice.id,
    subscriptions: subscription.id,
    checkouts: checkout.id,
    "webhook-endpoints": endpoint.id,
    notifications: notification_id,
    refunds: refund.id,
    reconciliations: reconciliation.id,
  };
  const operations = Object.entries(app.document().paths!).flatMap(([path, methods]) =>
    Object.entries<Json>(methods!).filter(([, { security }]) => security?.length !== 0)
      .map(([method]) => ({
        method: method.toUpperCase(),
        path,
        url: path.replace("{pk}", ids[path.match(/([^/]+)\/\{pk\}/)?.[1] ?? ""]!).replace(
          "{prefix}",
          prefix,
        )
          .replace("{action_name}", "disable").replace("{delivery_id}", ids.notifications!)
          .replace("{difference_id}", "2"),
      }))
  );
  return { ...payments, staff, viewer, operations };
}

/** The rows of all tables except those of events, which get their positions in the background. */
async function readTables({ databaseUrl }: World): Promise<Record<string, unknown>> {
  const tables = await runSql(
    databaseUrl,
    "select table_name as name from information_schema.tables where table_schema = 'gateway'",
  );
  const content: Record<string, unknown> = {};
  for (const { name } of tables) {
    // The audit trail contains the refused attempts.
    if (name.includes("event") || name === "audit") continue;
    const [row] = await runSql(
      databaseUrl,
      `select jsonb_agg(to_jsonb(t) - 'last_used_at' order by to_jsonb(t)::text) as rows
       from gateway.${name} t`,
    );
    content[name] = row!.rows;
  }
  return content;
}

function mayUse({ method, path }: Operation): boolean {
  return method === "GET" && !path.endsWith("/check_status/");
}

Deno.test("viewer: every operation that changes something or calls the gateway is forbidden", async () => {
  await using world = await openWorld();
  const { app, viewer, operations, relay } = world;
  const forbidden = operations.filter((operation) => !mayUse(operation));
  assert.ok(forbidden.length >= 20, `${forbidden.length} operations`);
  const before = await readTables(world);
  const callsBefore = relay.received.length;
  for (const { method, path, url } of forbidden) {
    const body = method === "GET" || method === "DELETE" ? {} : {
      body: "{}",
      headers: { "Content-Type": "application/json" },
    };
    for (const address of [url, url.slice(0, -1)]) {
      const { detail } = await assertProblem(
        await app.as(viewer, address, { method, ...body }),
        403,
        "forbidden",
      );
      assert.match(detail!, /^A viewer can only read/, `${method} ${path}`);
    }
  }
  for (const path of ["/payments/", "/invoices/", "/subscriptions/"]) {
    const { url } = operations.find((each) => each.path === `${path}{pk}/check_status/`)!;
    const head = await app.as(viewer, url, { method: "HEAD" });
    assert.equal(head.status, 403, "HEAD runs the same handler as GET");
  }
  assert.equal(relay.received.length, callsBefore, "the gateway is not called");
  assert.deepEqual(await readTables(world), before, "nothing is changed");
});

Deno.test("viewer: every read returns what staff see, and changes nothing", async () => {
  await using world = await openWorld();
  const { app, staff, viewer, operations, relay } = world;
  const allowed = operations.filter(mayUse);
  assert.ok(allowed.length >= 14, `${allowed.length} operations`);
  const read = async (key: string, url: string, method = "GET") => {
    const response = await app.as(key, url, { method });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    if (isStream) await response.body!.cancel();
    return { status: response.status, text: isStream ? "" : await response.text() };
  };
  const before = await readTables(world);
  const callsBefore = relay.received.length;
  for (const { path, url } of allowed) {
    const seenByViewer = await read(viewer, url);
    assert.equal(seenByViewer.status, 200, `${path}: ${seenByViewer.text}`);
    assert.equal((await read(viewer, url, "HEAD")).status, 200, path);
    // These responses depend on the caller, or change with each request.
    if (["/me/", "/status/", "/keys/", "/metrics/"].includes(path)) continue;
    const seenByStaff = await read(staff, url);
    assert.deepEqual(withoutRights(seenByViewer.text), withoutRights(seenByStaff.text), path);
  }
  assert.equal(relay.received.length, callsBefore, "the gateway is not called");
  assert.deepEqual(await readTables(world), before, "nothing is changed");
});

/** Without the actions and links, which viewers do not get. */
function withoutRights(text: string): string {
  return text.replace(/"allowed_actions":\[[^\]]*\]/g, "")
    .replace(/"(checkout|payment_page)_url":(null|"[^"]*")/g, "");
}

Deno.test("viewer: on routes of an embedding program, GET is allowed and POST is forbidden", async () => {
  const router = createRouter();
  const ok = { 200: { description: "ok" } };
  router.openapi(
    createRoute({ method: "get", path: "/orders/", responses: ok }),
    (c) => c.text("read"),
  );
  router.openapi(
    createRoute({ method: "post", path: "/orders/", responses: ok }),
    (c) => c.text("changed"),
  );
  await using app = await openApp({ databaseUrl: await createDatabase(), resources: [router] });
  const viewer = await app.createKey({ userId: "vera", isViewer: true });
  const user = await app.createKey();
  assert.equal((await app.as(viewer, "/orders/")).status, 200);
  assert.equal((await app.as(user, "/orders/", { method: "POST" })).status, 200);
  const refused = await app.as(viewer, "/orders/", { method: "POST" });
  await assertProblem(refused, 403, "forbidden");
});

Deno.test("viewer: a key cannot be both staff and viewer", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  await assert.rejects(app.createKey({ isStaff: true, isViewer: true }), /api_keys_have_one_role/);
});
