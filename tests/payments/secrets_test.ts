import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { dumpDatabase } from "../support/database/dump.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { ACCEPTED_CARD, CLIENT_KEY, type Json, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { operationOf, sendWithFault } from "../support/payments/operations.ts";
import { chargeRequest } from "../support/payments/payments.ts";

const DENIED_CARD = "4911111111111113";

/** Records the service's responses, and the secrets that they must not contain. */
interface Recorder {
  /** Values that may appear only in requests to the gateway. */
  secrets: Set<string>;
  /** The headers and body of every response. */
  answers: string[];
  post(path: string, body?: Json, headers?: HeadersInit): Promise<Json>;
  get(path: string): Promise<Json>;
  /** The body of a card charge; its token is added to the secrets. */
  createCardRequest(kind: "card" | "card_3ds" | "card_auth", number?: string): Promise<Json>;
}

function recordResponses(payments: RelayedPayments): Recorder {
  const secrets = new Set([
    ...[SERVER_KEY, btoa(`${SERVER_KEY}:`), CLIENT_KEY],
    ...[payments.key, ACCEPTED_CARD, DENIED_CARD],
  ]);
  const answers: string[] = [];
  async function record(pending: Promise<Response>): Promise<Json> {
    const answer = await pending;
    const text = await answer.text();
    answers.push(JSON.stringify([...answer.headers]), text);
    return JSON.parse(text);
  }
  return {
    secrets,
    answers,
    post: (path, body, headers) => record(payments.post(path, body, headers)),
    get: (path) => record(payments.get(path)),
    async createCardRequest(kind, number) {
      const body = await chargeRequest(payments.sandbox, kind, number);
      secrets.add(body.token_id);
      return body;
    },
  };
}

function assertAbsent(place: string, texts: string[], secrets: Iterable<string>): void {
  assert.ok(texts.length > 0);
  for (const secret of secrets) {
    for (const text of texts) {
      assert.ok(!text.includes(secret), `${place} contains ${secret}: ${text.slice(0, 2_000)}`);
    }
  }
}

async function assertNoLeak(
  payments: RelayedPayments,
  { secrets, answers }: Recorder,
): Promise<void> {
  // The gateway signs each status and notification; a leaked signature allows forged notifications.
  const transactions = await payments.sandbox.control("transactions", undefined, "GET");
  for (const { signature_key } of transactions) secrets.add(signature_key);
  assertAbsent("a response", answers, secrets);
  const savedTokens = transactions.flatMap((each: Json) => each.saved_token_id ?? []);
  const secretsAndTokens = [...secrets, ...savedTokens];
  assertAbsent("the database", await dumpDatabase(payments.databaseUrl), secretsAndTokens);
  const logged = payments.app.logged().map((line) => JSON.stringify(line));
  assertAbsent("the log", logged, secretsAndTokens);
}

const ENV = { LOG_GATEWAY: "true" };

Deno.test("secrets: no card number, token, key or signature is stored, logged or returned during a payment", async () => {
  await using payments = await openRelayed({ env: ENV });
  const { sandbox, app } = payments;
  const recorded = recordResponses(payments);

  const paid = await recorded.post("/charge/", await recorded.createCardRequest("card"), newKey());
  assert.equal(paid.transaction_status, "capture");
  await sandbox.control(`transactions/${paid.transaction_id}/settle`);
  await recorded.get(`/payments/${paid.id}/check_status/`);
  await recorded.post(`/payments/${paid.id}/refund/`, { amount: 1_000 }, newKey());
  await recorded.get(`/payments/${paid.id}/`);
  await recorded.get("/payments/");

  const authorized = await recorded.post("/charge/", await recorded.createCardRequest("card_auth"));
  await recorded.post(`/payments/${authorized.id}/capture/`, {}, newKey());
  const denied = await recorded.post(
    "/charge/",
    await recorded.createCardRequest("card", DENIED_CARD),
    newKey(),
  );
  assert.equal(denied.transaction_status, "deny");

  const redirected = await recorded.post("/charge/", await recorded.createCardRequest("card_3ds"));
  // The redirect URL is for the customer only, so it must not be logged.
  const redirect = redirected.redirect_url.split("/").at(-1);
  const logged = app.logged().map((line) => JSON.stringify(line));
  assertAbsent("the log", logged, [redirect]);

  assert.ok(logged.some((line) => line.includes("gateway_exchange")), "exchanges are logged");
  assert.ok(
    payments.relay.received.some(({ body }) =>
      [...recorded.secrets].some((each) => body.includes(each))
    ),
    "the gateway received the secrets",
  );
  await assertNoLeak(payments, recorded);
});

Deno.test("secrets: a saved token appears only in the gateway_response of check_status", async () => {
  await using payments = await openRelayed({ env: ENV });
  const recorded = recordResponses(payments);
  const body = { ...await recorded.createCardRequest("card"), save_token_id: true };
  const { id, transaction_id } = await recorded.post("/charge/", body, newKey());
  const { saved_token_id } = await payments.sandbox.status(transaction_id);
  assert.ok(saved_token_id);
  await recorded.get(`/payments/${id}/`);
  assertAbsent("a response", recorded.answers, [saved_token_id]);
  const { gateway_response } = await (await payments.get(`/payments/${id}/check_status/`)).json();
  assert.equal(gateway_response.saved_token_id, saved_token_id);
  assert.equal("signature_key" in gateway_response, false);
  await assertNoLeak(payments, recorded);
});

Deno.test("secrets: gateway failures and rejected requests reveal no secret", async (t) => {
  const waits = createWaits();
  await using payments = await openRelayed({ env: ENV, gatewayOptions: { wait: waits.wait } });
  const recorded = recordResponses(payments);
  const faults = [
    ...["no_answer", "reset", "answer_lost", "error_500", "error_503"],
    ...["hidden_500", "broken_json", "html", "rate_limit"],
  ];
  for (const fault of faults) {
    await t.step(fault, async () => {
      const orderId = randomUUID();
      const prepared = {
        path: "/charge/",
        body: { ...await recorded.createCardRequest("card"), order_id: orderId },
        orderId,
      };
      const answer = await sendWithFault(payments, {
        operation: operationOf("charge"),
        prepared,
        fault,
        waits,
        headers: newKey(),
      });
      recorded.answers.push(await answer.text());
      const [row] = await payments.app.database.query((sql) =>
        sql`select id from gateway.payments where order_id = ${orderId}`
      );
      await payments.check(row!.id).catch(() => {});
    });
  }
  await t.step("a token used twice", async () => {
    const body = await recorded.createCardRequest("card");
    await recorded.post("/charge/", body);
    const problem = await recorded.post("/charge/", body);
    assert.equal(problem.gateway_status_code, "411");
  });
  await t.step("an invalid request", async () => {
    const body = await recorded.createCardRequest("card");
    await recorded.post("/charge/", { ...body, gross_amount: -1 });
    await recorded.post("/charge/", { ...body, token_id: body.token_id.padEnd(300, "x") });
    await recorded.post("/charge/", { ...body, token_id: [body.token_id] });
    await recorded.post("/charge/", { ...body, payment_type: body.token_id });
    await recorded.post("/charge/", { ...body, order_id: `${body.token_id} ` });
  });
  await assertNoLeak(payments, recorded);
});

Deno.test("secrets: a card number and CVV sent by mistake are not stored, logged or forwarded", async () => {
  await using payments = await openRelayed({ env: ENV });
  const recorded = recordResponses(payments);
  const cvv = "cvv-90210", number = "5211111111111117";
  recorded.secrets.add(cvv).add(number);
  const body = await recorded.createCardRequest("card");
  for (
    const mistake of [
      { card_number: number, card_cvv: cvv },
      { card: { number, cvv }, credit_card: { card_number: number, card_cvv: cvv } },
      { customer_details: { first_name: "Budi", card_cvv: cvv, card_number: number } },
    ]
  ) {
    await recorded.post("/charge/", { ...body, ...mistake }, newKey());
  }
  await assertNoLeak(payments, recorded);
  for (const { body } of payments.relay.received) {
    assertAbsent("a gateway call", [body], [cvv, number]);
  }
});

/** Gateway responses that repeat the token of the request. */
const ECHOES: Record<string, (token: string) => Response> = {
  "an error": (token) =>
    Response.json({
      status_code: "400",
      status_message: `Token ${token} is bad`,
      validation_messages: [`token_id ${token} by ${SERVER_KEY}`],
    }),
  "a failure": (token) => Response.json({ status_code: "500", status_message: token }),
  "an HTML page": (token) => new Response(`<html>${token} ${SERVER_KEY}</html>`, { status: 502 }),
  "a denial": (token) =>
    Response.json({
      status_code: "202",
      status_message: `The bank declined ${token} of ${SERVER_KEY}`,
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

Deno.test("secrets: a token that the gateway repeats is not stored, logged or returned", async (t) => {
  for (const [caseName, echo] of Object.entries(ECHOES)) {
    await t.step(caseName, async () => {
      await using payments = await openRelayed({ env: ENV });
      const recorded = recordResponses(payments);
      payments.relay.intercept = (request, pass) =>
        nameOf(request) === "POST /v2/charge"
          ? echo(JSON.parse(request.body).credit_card.token_id)
          : pass();
      const { id, payment_id } = await recorded.post(
        "/charge/",
        await recorded.createCardRequest("card"),
        newKey(),
      );
      await recorded.get(`/payments/${id ?? payment_id}/`);
      await assertNoLeak(payments, recorded);
    });
  }
});

Deno.test("secrets: a server key that the gateway rejects is not stored, logged or returned", async () => {
  const databaseUrl = await createDatabase();
  const serverKey = `Mid-server-${randomUUID()}`;
  await using payments = await openRelayed({ databaseUrl, env: ENV });
  const { id } = await payments.charge("gopay");
  await using misconfigured = await openApp({
    databaseUrl,
    env: { ...ENV, DATABASE_URL: databaseUrl, GATEWAY_SERVER_KEY: serverKey },
    gatewayUrl: payments.relay.url,
    serverKey,
  });
  const answers = await Promise.all([
    misconfigured.as(payments.key, `/payments/${id}/check_status/`),
    misconfigured.as(payments.key, `/payments/${id}/cancel/`, { method: "POST" }),
  ].map(async (each) => await (await each).text()));
  for (const answer of answers) assert.equal(JSON.parse(answer).code, "gateway_authentication");
  const secrets = [serverKey, btoa(`${serverKey}:`)];
  assertAbsent("a response", answers, secrets);
  assertAbsent("the database", await dumpDatabase(databaseUrl), secrets);
  assertAbsent("the log", misconfigured.logged().map((line) => JSON.stringify(line)), secrets);
});
