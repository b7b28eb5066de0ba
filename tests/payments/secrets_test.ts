import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { openApp } from "../support/app.ts";
import { ask, createDatabase } from "../support/database/database.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { newKey } from "../support/idempotency.ts";
import { operationOf, sendIntoFault } from "../support/payments/operations.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { ACCEPTED_CARD, CLIENT_KEY, type Json, SERVER_KEY } from "../support/gateway/sandbox.ts";

const DENIED_CARD = "4911111111111113";

/** Watches all that comes out of the service, and what must not. */
interface Watch {
  /** Must show nowhere but where the gateway was sent it. */
  secrets: Set<string>;
  /** Every answer to a caller, heads and bodies. */
  answers: string[];
  post(path: string, body?: Json, headers?: HeadersInit): Promise<Json>;
  get(path: string): Promise<Json>;
  /** The body of a charge, its token kept in mind. */
  card(kind: "card" | "card_3ds" | "card_auth", number?: string): Promise<Json>;
}

function watch(payments: RelayedPayments): Watch {
  const secrets = new Set([
    ...[SERVER_KEY, btoa(`${SERVER_KEY}:`), CLIENT_KEY],
    ...[payments.key, ACCEPTED_CARD, DENIED_CARD],
  ]);
  const answers: string[] = [];
  async function keep(asking: Promise<Response>): Promise<Json> {
    const answer = await asking;
    const text = await answer.text();
    answers.push(JSON.stringify([...answer.headers]), text);
    return JSON.parse(text);
  }
  return {
    secrets,
    answers,
    post: (path, body, headers) => keep(payments.post(path, body, headers)),
    get: (path) => keep(payments.get(path)),
    async card(kind, number) {
      const body = await chargeRequest(payments.sandbox, kind, number);
      secrets.add(body.token_id);
      return body;
    },
  };
}

/** Everything that is stored, column by column, as text. */
async function dump(databaseUrl: string): Promise<string[]> {
  const tables = await ask(
    databaseUrl,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema')`,
  );
  assert.ok(tables.length >= 8);
  const rows = await Promise.all(
    tables.map(({ name }) => ask(databaseUrl, `select '${name}' || t::text as row from ${name} t`)),
  );
  const texts = rows.flat().map(({ row }) => row as string);
  // What is stored as bytes could be text.
  return [...texts, ...texts.map(unhex)];
}

function unhex(text: string): string {
  return text.replace(
    /\\x([0-9a-f]+)/g,
    (_, hex: string) =>
      String.fromCharCode(...(hex.match(/../g) ?? []).map((two) => parseInt(two, 16))),
  );
}

function assertNowhere(what: string, texts: string[], secrets: Iterable<string>): void {
  assert.ok(texts.length > 0);
  for (const secret of secrets) {
    for (const text of texts) {
      assert.ok(!text.includes(secret), `${what} has ${secret}: ${text.slice(0, 2_000)}`);
    }
  }
}

async function assertKept(payments: RelayedPayments, { secrets, answers }: Watch): Promise<void> {
  // The gateway signs each status and each webhook; whoever had that could sign notifications.
  const transactions = await payments.sandbox.control("transactions", undefined, "GET");
  for (const { signature_key } of transactions) secrets.add(signature_key);
  assertNowhere("an answer", answers, secrets);
  const savedTokens = transactions.flatMap((each: Json) => each.saved_token_id ?? []);
  const elsewhere = [...secrets, ...savedTokens];
  assertNowhere("the database", await dump(payments.databaseUrl), elsewhere);
  const logged = payments.app.logged().map((line) => JSON.stringify(line));
  assertNowhere("the log", logged, elsewhere);
}

const ENV = { LOG_GATEWAY: "true" };

Deno.test("no card, token, key or signature is stored, logged or told, whatever a payment goes through", async () => {
  await using payments = await openRelayed({ env: ENV });
  const { sandbox, app } = payments;
  const seen = watch(payments);

  const paid = await seen.post("/charge/", await seen.card("card"), newKey());
  assert.equal(paid.transaction_status, "capture");
  await sandbox.control(`transactions/${paid.transaction_id}/settle`);
  await seen.get(`/payments/${paid.id}/check_status/`);
  await seen.post(`/payments/${paid.id}/refund/`, { amount: 1_000 }, newKey());
  await seen.get(`/payments/${paid.id}/`);
  await seen.get("/payments/");

  const held = await seen.post("/charge/", await seen.card("card_auth"));
  await seen.post(`/payments/${held.id}/capture/`, {}, newKey());
  const denied = await seen.post("/charge/", await seen.card("card", DENIED_CARD), newKey());
  assert.equal(denied.transaction_status, "deny");

  const redirected = await seen.post("/charge/", await seen.card("card_3ds"));
  // Its customer needs it; nobody else does.
  const redirect = redirected.redirect_url.split("/").at(-1);
  const logged = app.logged().map((line) => JSON.stringify(line));
  assertNowhere("the log", logged, [redirect]);

  assert.ok(logged.some((line) => line.includes("gateway_exchange")), "exchanges are logged");
  assert.ok(
    payments.relay.received.some(({ body }) =>
      [...seen.secrets].some((each) => body.includes(each))
    ),
    "the gateway was sent them",
  );
  await assertKept(payments, seen);
});

Deno.test("a token that is to be kept shows in the gateway's own words alone", async () => {
  await using payments = await openRelayed({ env: ENV });
  const seen = watch(payments);
  const body = { ...await seen.card("card"), save_token_id: true };
  const { id, transaction_id } = await seen.post("/charge/", body, newKey());
  const { saved_token_id } = await payments.sandbox.status(transaction_id);
  assert.ok(saved_token_id);
  await seen.get(`/payments/${id}/`);
  assertNowhere("an answer", seen.answers, [saved_token_id]);
  const { gateway_response } = await (await payments.get(`/payments/${id}/check_status/`)).json();
  assert.equal(gateway_response.saved_token_id, saved_token_id);
  assert.equal("signature_key" in gateway_response, false);
  await assertKept(payments, seen);
});

Deno.test("what goes wrong gives no secret away", async (t) => {
  const waits = createWaits();
  await using payments = await openRelayed({ env: ENV, gatewayOptions: { wait: waits.wait } });
  const seen = watch(payments);
  const faults = [
    ...["no_answer", "reset", "answer_lost", "error_500", "error_503"],
    ...["hidden_500", "broken_json", "html", "rate_limit"],
  ];
  for (const fault of faults) {
    await t.step(fault, async () => {
      const orderId = randomUUID();
      const prepared = {
        path: "/charge/",
        body: { ...await seen.card("card"), order_id: orderId },
        orderId,
      };
      const answer = await sendIntoFault(payments, {
        operation: operationOf("charge"),
        prepared,
        fault,
        waits,
        headers: newKey(),
      });
      seen.answers.push(await answer.text());
      const [row] = await payments.app.database.query((sql) =>
        sql`select id from gateway.payments where order_id = ${orderId}`
      );
      await payments.check(row!.id).catch(() => {});
    });
  }
  await t.step("a token that was used before", async () => {
    const body = await seen.card("card");
    await seen.post("/charge/", body);
    const problem = await seen.post("/charge/", body);
    assert.equal(problem.gateway_status_code, "411");
  });
  await t.step("a request that is wrong", async () => {
    const body = await seen.card("card");
    await seen.post("/charge/", { ...body, gross_amount: -1 });
    await seen.post("/charge/", { ...body, token_id: body.token_id.padEnd(300, "x") });
    await seen.post("/charge/", { ...body, token_id: [body.token_id] });
    await seen.post("/charge/", { ...body, payment_type: body.token_id });
    await seen.post("/charge/", { ...body, order_id: `${body.token_id} ` });
  });
  await assertKept(payments, seen);
});

Deno.test("what a caller sends by mistake is not kept: a card's number and CVV among it", async () => {
  await using payments = await openRelayed({ env: ENV });
  const seen = watch(payments);
  const cvv = "cvv-90210", number = "5211111111111117";
  seen.secrets.add(cvv).add(number);
  const body = await seen.card("card");
  for (
    const mistake of [
      { card_number: number, card_cvv: cvv },
      { card: { number, cvv }, credit_card: { card_number: number, card_cvv: cvv } },
      { customer_details: { first_name: "Budi", card_cvv: cvv, card_number: number } },
    ]
  ) {
    await seen.post("/charge/", { ...body, ...mistake }, newKey());
  }
  await assertKept(payments, seen);
  for (const { body } of payments.relay.received) assertNowhere("a call", [body], [cvv, number]);
});

/** A gateway that repeats what it was sent, in whatever it says. */
const ECHOES: Record<string, (token: string) => Response> = {
  "an error": (token) =>
    Response.json({
      status_code: "400",
      status_message: `Token ${token} is bad`,
      validation_messages: [`token_id ${token} by ${SERVER_KEY}`],
    }),
  "a failure": (token) => Response.json({ status_code: "500", status_message: token }),
  "a page": (token) => new Response(`<html>${token} ${SERVER_KEY}</html>`, { status: 502 }),
  "a denial": (token) =>
    Response.json({
      status_code: "202",
      status_message: `The bank does not take ${token} of ${SERVER_KEY}`,
      transaction_id: randomUUID(),
      transaction_status: "deny",
      gross_amount: "44000.00",
      payment_type: "credit_card",
    }),
  "a success": (token) =>
    Response.json({
      status_code: "200",
      status_message: `Success, ${token} is charged`,
      transaction_id: randomUUID(),
      transaction_status: "capture",
      fraud_status: "accept",
      gross_amount: "44000.00",
      payment_type: "credit_card",
      token_id: token,
      signature_key: token,
    }),
};

Deno.test("a gateway that repeats a token does not bring it in", async (t) => {
  for (const [what, echo] of Object.entries(ECHOES)) {
    await t.step(what, async () => {
      await using payments = await openRelayed({ env: ENV });
      const seen = watch(payments);
      payments.relay.intercept = (request, pass) =>
        nameOf(request) === "POST /v2/charge"
          ? echo(JSON.parse(request.body).credit_card.token_id)
          : pass();
      const { id, payment_id } = await seen.post("/charge/", await seen.card("card"), newKey());
      await seen.get(`/payments/${id ?? payment_id}/`);
      await assertKept(payments, seen);
    });
  }
});

Deno.test("a key that the gateway does not take is not told to anybody", async () => {
  const databaseUrl = await createDatabase();
  const serverKey = `Mid-server-${randomUUID()}`;
  await using payments = await openRelayed({ databaseUrl, env: ENV });
  const { id } = await payments.charge("gopay");
  await using wrong = await openApp({
    databaseUrl,
    env: { ...ENV, DATABASE_URL: databaseUrl, GATEWAY_SERVER_KEY: serverKey },
    gatewayUrl: payments.relay.url,
    serverKey,
  });
  const answers = await Promise.all([
    wrong.as(payments.key, `/payments/${id}/check_status/`),
    wrong.as(payments.key, `/payments/${id}/cancel/`, { method: "POST" }),
  ].map(async (each) => await (await each).text()));
  for (const answer of answers) assert.equal(JSON.parse(answer).code, "gateway_authentication");
  const secrets = [serverKey, btoa(`${serverKey}:`)];
  assertNowhere("an answer", answers, secrets);
  assertNowhere("the database", await dump(databaseUrl), secrets);
  assertNowhere("the log", wrong.logged().map((line) => JSON.stringify(line)), secrets);
});
