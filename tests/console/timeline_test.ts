import assert from "node:assert/strict";
import { SignJWT } from "jose";
import { ACTIONS_OF_KIND } from "../../core/audit/kinds.ts";
import { SUBSCRIPTION_ACTIONS } from "../../core/subscriptions/states.ts";
import { REAL_INSTALLATION } from "../support/app.ts";
import { openStaff, signInTo, unescape } from "../support/console/browsing.ts";
import { routesOf } from "../support/console/routes.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { notify } from "../support/gateway/notifications.ts";
import { CHALLENGED_CARD, type Json } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase();

const ENGLISH = { "Accept-Language": "en" };
const INDONESIAN = { "Accept-Language": "id" };

/** The sentences of a page's timeline, newest first, and what is behind the click. */
function timelineOf(html: string): { sentences: string[]; times: string[]; technical: string } {
  const [, list = ""] = html.match(/<ol class="timeline">(.*?)<\/ol>/s) ?? [];
  const [, technical = ""] = html.match(/<details id="technical-timeline">(.*?)<\/details>/s) ?? [];
  const items = [...list.matchAll(/<li><span>(.*?)<\/span><time[^>]*>(.*?)<\/time><\/li>/gs)];
  return {
    sentences: items.map(([, text]) => unescape(text!)),
    times: items.map(([, , time]) => time!),
    technical: unescape(technical),
  };
}

/** Signed in with a key that has a name, like a colleague of the shop. */
async function openRina({ app }: TestPayments) {
  return await signInTo(app, await app.createKey({ userId: "ops", isStaff: true, name: "rina" }));
}

Deno.test("console timeline: reads as sentences with seconds and names, in both languages, and hides ids", async () => {
  await using receiver = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(),
  );
  const host = `127.0.0.1:${receiver.addr.port}`;
  const env = { ...REAL_INSTALLATION, WEBHOOK_ALLOW_PRIVATE: "true" };
  await using payments = await openPayments({ env });
  const { app, sandbox } = payments;
  const staffKey = await app.createKey({ isStaff: true });
  const shopKey = await app.createKey({ userId: "shop", name: "shop backend" });
  const created = await payments.post(
    "/webhook-endpoints/",
    { url: `http://${host}/hook` },
    {},
    staffKey,
  );
  assert.equal(created.status, 201, await created.clone().text());
  const body = { payment_type: "qris", gross_amount: 275_000 };
  const charge = await (await payments.post("/charge/", body, {}, shopKey)).json();
  sandbox.receiver.answer = ({ body }) => notify(payments, body);
  await sandbox.control(`transactions/${charge.transaction_id}/pay`);
  await sandbox.waitForWebhooks();
  sandbox.receiver.answer = () => new Response("OK");
  const rina = await openRina(payments);
  await rina.open(`/console/payments/${charge.id}/refund/`);
  await rina.submit(/refund/, { amount: "40000", reason: "damaged" });
  await app.publishEvents();
  await runDueJobs(app);

  const page = `/console/payments/${charge.id}/`;
  const english = timelineOf((await rina.open(page, ENGLISH)).html);
  const delivered = `Webhook delivered to ${host}`;
  assert.deepEqual(english.sentences.filter((each) => each !== delivered), [
    "Refund of Rp 40.000 by rina · damaged",
    "Customer paid by QRIS",
    "Payment of Rp 275.000 by QRIS created by shop backend",
  ]);
  assert.ok(english.sentences.includes(delivered), english.sentences.join("\n"));
  for (const time of english.times) assert.match(time, /^\d+ \w+ \d{4}, \d\d:\d\d:\d\d WIB$/);

  const indonesian = timelineOf((await rina.open(page, INDONESIAN)).html);
  const sent = `Webhook terkirim ke ${host}`;
  assert.deepEqual(indonesian.sentences.filter((each) => each !== sent), [
    "Pengembalian dana Rp 40.000 oleh rina · damaged",
    "Pelanggan membayar lewat QRIS",
    "Pembayaran Rp 275.000 lewat QRIS dibuat oleh shop backend",
  ]);
  for (const time of indonesian.times) assert.match(time, /\d\d\.\d\d\.\d\d WIB$/);
  for (const text of [...english.sentences, ...indonesian.sentences]) {
    assert.doesNotMatch(text, /gk_|api_key|notification:|[0-9a-f]{8}-/);
  }
  assert.match(english.technical, /Pending → Paid \(notification by notification:/);
  assert.match(english.technical, /by api_key:gk_/);

  const api = await (await payments.get(`/timelines/payments/${charge.id}/`, staffKey)).json();
  const names = api.entries.map(({ transition, refund }: Json) =>
    transition?.actor_name ?? refund?.created_by_name
  );
  assert.ok(names.includes("shop backend") && names.includes("rina"), JSON.stringify(names));
  const own = await (await payments.get(`/timelines/payments/${charge.id}/`, shopKey)).json();
  for (const { transition, refund, event } of own.entries) {
    assert.equal(transition?.actor_name ?? refund?.created_by_name ?? null, null);
    for (const { endpoint_host } of event?.deliveries ?? []) assert.equal(endpoint_host, null);
  }
});

Deno.test("console timeline: says in both languages why a webhook was not received and a notification failed", async () => {
  const env = { ...REAL_INSTALLATION, WEBHOOK_ALLOW_PRIVATE: "true" };
  await using payments = await openPayments({ env });
  const { app } = payments;
  const staffKey = await app.createKey({ isStaff: true });
  // Port 1 is closed.
  await payments.post("/webhook-endpoints/", { url: "http://127.0.0.1:1/hook" }, {}, staffKey);
  const { id, order_id } = await payments.paid("qris");
  await runSql(
    payments.databaseUrl,
    `insert into gateway.notifications (id, payment_id, order_id, transaction_id,
      transaction_status, status_code, gross_amount, status, error_message, raw_payload, created_at)
    values (gen_random_uuid(), '${id}', '${order_id}', gen_random_uuid(), 'settlement', '200',
      '44000.00', 'failed', 'The gateway''s record of the transaction is incomplete.', '{}', now())`,
  );
  await app.publishEvents();
  await runDueJobs(app);
  const rina = await openRina(payments);
  const read = async (language: HeadersInit) =>
    timelineOf((await rina.open(`/console/payments/${id}/`, language)).html).sentences.join("\n");
  const english = await read(ENGLISH);
  assert.match(english, /not accepted by 127\.0\.0\.1:1 · The connection was refused/);
  assert.match(english, /The gateway's record of the transaction is incomplete/);
  const indonesian = await read(INDONESIAN);
  assert.match(indonesian, /Webhook tidak diterima oleh 127\.0\.0\.1:1 · Koneksi ditolak/);
  assert.match(indonesian, /Catatan transaksi di gateway tidak lengkap/);
  assert.doesNotMatch(indonesian, /\bThe\b/);
});

Deno.test("console timeline: says who cancelled, expired, captured, approved or denied a payment, and how it ended", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { charge, paid, sandbox } = payments;
  const rina = await openRina(payments);
  const challenged = async () =>
    await charge("card", { token_id: await sandbox.token(CHALLENGED_CARD) });
  const act = (action: string) => async ({ id }: { id: string }) => {
    await rina.open(`/console/payments/${id}/${action}/`);
    await rina.submit(new RegExp(action));
  };
  const expire = async ({ id, transaction_id }: { id: string; transaction_id: string | null }) => {
    await sandbox.control(`transactions/${transaction_id}/expire`);
    await payments.refresh(id);
  };
  const cases: [Awaited<ReturnType<typeof charge>>, typeof expire | null, string, string][] = [
    [
      await charge("bca"),
      act("cancel"),
      "Payment cancelled by rina",
      "Pembayaran dibatalkan oleh rina",
    ],
    [
      await charge("bca"),
      act("expire"),
      "Payment ended before its time by rina",
      "Pembayaran diakhiri lebih awal oleh rina",
    ],
    [
      await charge("bca"),
      expire,
      "Payment expired; the customer did not pay in time",
      "Pembayaran kedaluwarsa; pelanggan tidak membayar tepat waktu",
    ],
    [
      await charge("card_auth"),
      act("capture"),
      "Reserved amount charged to the card by rina",
      "Dana yang ditahan ditagih ke kartu oleh rina",
    ],
    [
      await challenged(),
      act("approve"),
      "Card payment approved after a review by rina",
      "Pembayaran kartu disetujui setelah ditinjau oleh rina",
    ],
    [
      await challenged(),
      act("deny"),
      "Card payment rejected after a review by rina",
      "Pembayaran kartu ditolak setelah ditinjau oleh rina",
    ],
    [
      await paid("bca"),
      null,
      "Customer paid by BCA virtual account",
      "Pelanggan membayar lewat virtual account BCA",
    ],
    [
      await paid("permata"),
      null,
      "Customer paid by Permata virtual account",
      "Pelanggan membayar lewat virtual account Permata",
    ],
    [await charge("card"), null, "Customer paid by card", "Pelanggan membayar lewat kartu"],
  ];
  for (const [payment, run, english, indonesian] of cases) {
    await run?.(payment);
    const path = `/console/payments/${payment.id}/`;
    const [first] = timelineOf((await rina.open(path, ENGLISH)).html).sentences;
    assert.equal(first, english);
    const [translated] = timelineOf((await rina.open(path, INDONESIAN)).html).sentences;
    assert.equal(translated, indonesian);
  }
});

Deno.test("console refunds: the list, the payment and the API name who refunded, and why a refund failed", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const payment = await payments.paid("gopay");
  const rina = await openRina(payments);
  await rina.open(`/console/payments/${payment.id}/refund/`);
  await rina.submit(/refund/, { amount: "10000", reason: "late" });
  await payments.post(`/payments/${payment.id}/refund/`, { amount: 5_000 });
  await runSql(
    databaseUrl,
    `update gateway.refunds set status = 'failed', status_message = 'Insufficient balance'
    where payment_id = '${payment.id}' and amount = 5000`,
  );
  const row = (html: string, amount: string) =>
    [...html.matchAll(/<tr>.*?<\/tr>/gs)].map(([each]) => each).find((each) =>
      each.includes(amount)
    )!;
  for (const path of ["/console/refunds/", `/console/payments/${payment.id}/`]) {
    const { html } = await rina.open(path);
    assert.match(row(html, "Rp 10.000"), /<td>rina<\/td>/, path);
    assert.match(row(html, "Rp 5.000"), /<td>alice<\/td>/, path);
    assert.match(row(html, "Rp 5.000"), /Failed<span class="faint">Insufficient balance<\/span>/);
  }
  const staffKey = await app.createKey({ isStaff: true });
  const listed = await (await payments.get(`/refunds/?payment_id=${payment.id}`, staffKey)).json();
  assert.deepEqual(listed.map((each: Json) => each.created_by_name), ["alice", "rina"]);
  const [own] = await (await payments.get(`/refunds/?payment_id=${payment.id}`)).json();
  assert.equal(own.created_by_name, null);
});

Deno.test("refund by a JWT: the lists, the timeline and the audit name its subject", async () => {
  const AUTH_JWT_SECRET = "a shared secret of more than 32 characters";
  const env = {
    AUTH_JWT_SECRET,
    AUTH_JWT_ISSUER: "https://id.example.com/",
    AUTH_JWT_AUDIENCE: "payments",
    AUTH_STAFF_CLAIM: "staff",
  };
  await using payments = await openPayments({ databaseUrl, env });
  const token = await new SignJWT({ staff: true }).setProtectedHeader({ alg: "HS256" })
    .setSubject("dewi@shop.example").setIssuer(env.AUTH_JWT_ISSUER).setAudience(
      env.AUTH_JWT_AUDIENCE,
    ).setExpirationTime("1h")
    .sign(new TextEncoder().encode(AUTH_JWT_SECRET));
  const { id } = await payments.paid("gopay");
  const refunded = await payments.post(`/payments/${id}/refund/`, { amount: 7_000 }, {}, token);
  assert.equal(refunded.status, 200, await refunded.text());
  await payments.app.audit.flush();
  const read = async (path: string) => await (await payments.get(path, token)).json();
  const [refund] = await read(`/refunds/?payment_id=${id}`);
  assert.equal(refund.created_by_name, "dewi@shop.example");
  const [audited] = await read(`/audit/?resource_id=${id}&kind=refund`);
  assert.equal(audited.actor_name, "dewi@shop.example");
  const staff = await openStaff(payments);
  const { html } = await staff.open(`/console/payments/${id}/`);
  assert.match(html, /Refund of Rp 7\.000 by dewi@shop\.example/);
  assert.match((await staff.open("/console/refunds/")).html, /<td>dewi@shop\.example<\/td>/);
});

Deno.test("console audit: the filter Refund finds refunds of the console and of the API", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const payment = await payments.paid("gopay");
  const rina = await openRina(payments);
  await rina.open(`/console/payments/${payment.id}/refund/`);
  await rina.submit(/refund/, { amount: "10000" });
  await payments.post(`/payments/${payment.id}/refund/`, { amount: 5_000 });
  await payments.post(`/payments/${payment.id}/cancel/`);
  await app.audit.flush();
  const staff = await openStaff(payments);
  const { html } = await staff.open(`/console/audit/?kind=refund&resource=${payment.id}`);
  assert.match(html, /<option value="refund" selected>Refund<\/option>/);
  const rows = [...html.matchAll(/<tr>.*?<\/tr>/gs)].map(([each]) => each).slice(1);
  assert.equal(rows.length, 2, html);
  assert.match(rows[0]!, />alice<.*>Refund<.*POST \/payments\/\{pk\}\/refund\//s);
  assert.match(rows[1]!, />rina<.*>Refund<.*POST \/console\/payments\/\{id\}\/refund\//s);
  const { html: translated } = await staff.open("/console/audit/?kind=refund", INDONESIAN);
  assert.match(translated, /<option value="refund" selected>Pengembalian dana<\/option>/);

  const key = await app.createKey({ isStaff: true });
  const read = async (query: string) =>
    await (await payments.get(`/audit/?resource_id=${payment.id}&${query}`, key)).json();
  const found = await read("kind=refund");
  assert.deepEqual(
    found.map(({ kind, actor_name }: Json) => [kind, actor_name]),
    [["refund", "alice"], ["refund", "rina"]],
  );
  const [{ kind }] = await read("kind=charge");
  assert.equal(kind, "charge");
  assert.equal((await read("kind=refund&action=POST /charge/")).length, 0);
});

Deno.test("audit: every action that has a name is a route of the API or the console", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { paths } = await (await payments.get("/openapi.json")).json();
  const routes = [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods as Json).flatMap((method) =>
        SUBSCRIPTION_ACTIONS.map((action) =>
          `${method.toUpperCase()} ${path.replace("{action_name}", action)}`
        )
      )
    ),
    ...routesOf(payments.app).map(({ method, path }) =>
      `${method} /console${path.replaceAll(/:(\w+)(\{[^}]*\})?/g, "{$1}")}`
    ),
  ];
  const named = Object.values(ACTIONS_OF_KIND).flat() as string[];
  assert.deepEqual(named.filter((action) => !routes.includes(action)), []);
  assert.equal(new Set(named).size, named.length, "no action has two names");
});
