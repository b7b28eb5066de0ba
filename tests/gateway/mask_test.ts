import assert from "node:assert/strict";
import type { GatewayError } from "../../core/gateway/errors.ts";
import { logExchanges } from "../../core/gateway/instrumentation.ts";
import { maskText } from "../../core/gateway/mask.ts";
import type { Exchange } from "../../core/gateway/transport.ts";
import { createLog } from "../../core/telemetry/log.ts";
import { fc } from "../support/fast_check.ts";
import {
  CLIENT_KEY,
  clientFor,
  openFakeGateway,
  respondWith,
  SERVER_KEY,
} from "../support/gateway/gateway.ts";

const UNREACHABLE_URL = "http://127.0.0.1:2";
const CARD = "4811111111111114";

const SECRET_FIELDS = [
  ...["card_number", "card_cvv", "cvv", "token_id", "saved_token_id", "token", "client_key"],
  ...["payment_option_token", "bank_one_time_token", "signature_key", "server_key"],
];

for (const name of SECRET_FIELDS) {
  Deno.test(`mask: hides the field ${name} in complete and truncated JSON`, () => {
    const masked = (text: string) => maskText(text.replaceAll("NAME", name));
    assert.equal(masked('{"NAME":"abc","x":1}'), `{"${name}":"[secret]","x":1}`);
    assert.equal(masked('{"NAME" : "a\\"bc", "x":1}'), `{"${name}" : "[secret]", "x":1}`);
    assert.equal(masked('{"NAME":12345,"x":1}'), `{"${name}":"[secret]","x":1}`);
    assert.equal(masked('{"NAME":["abc",{"d":"]"}],"x":1}'), `{"${name}":"[secret]","x":1}`);
    assert.equal(masked('[{"NAME":"abc'), `[{"${name}":"[secret]"`);
    assert.equal(masked('[{"NAME":"abc\\'), `[{"${name}":"[secret]"`);
    assert.equal(masked('{"NAME":{"deep":"abc"'), `{"${name}":"[secret]"`);
    assert.equal(masked('{"NAME":null}'), `{"${name}":null}`);
    assert.equal(masked("/v2/token?a=1&NAME=abc%20d&b=2"), `/v2/token?a=1&${name}=[secret]&b=2`);
  });
}

Deno.test("mask: hides a card object", () => {
  const text = '{"credit_card":{"card":{"number":"4811111111111114","cvv":"123"},"bank":"bca"}}';
  assert.equal(maskText(text), '{"credit_card":{"card":"[secret]","bank":"bca"}}');
});

Deno.test("mask: hides card numbers anywhere in the text", () => {
  const numbers = {
    "4811111111111114": "[secret]",
    "4811 1111 1111 1114": "[secret]",
    "4811-1111-1111-1114.": "[secret].",
    "374296354400881": "[secret]",
    "12 4811111111111114 35": "12 [secret] 35",
    "x4811111111111114y": "x[secret]y",
    "4811111111111115": "4811111111111115",
    "48111111-1114": "48111111-1114",
    "2026-01-01 10:00:00": "2026-01-01 10:00:00",
  };
  for (const [text, masked] of Object.entries(numbers)) assert.equal(maskText(text), masked);
});

Deno.test("mask: keeps UUIDs that contain the digits of a card number", () => {
  for (
    const id of ["01a1edb7-1925-7236-9178-5d5a6e196fa8", "01A1EDB7-1925-7236-9178-5D5A6E196FA8"]
  ) {
    const text = `{"metadata":{"subscription_ref":"${id}"},"order_id":"${id}-p"}`;
    assert.equal(maskText(text), text);
  }
  for (const number of ["1925-7236-9178-5", "4811-1111-1111-1114", "4811111111111114-aaaa"]) {
    assert.ok(!maskText(`"${number}"`).includes(number.slice(0, 12)), number);
  }
});

Deno.test("mask: keeps the numbers that customers need to pay, and masked cards", () => {
  for (const name of ["va_number", "permata_va_number", "bill_key", "payment_code"]) {
    const text = `{"${name}":"${CARD}","masked_card":"48111111-1114"}`;
    assert.equal(maskText(text), text);
  }
});

Deno.test("mask: hides 3-D Secure tokens and credentials", () => {
  const url = "https://api.midtrans.com/v2/3ds/redirect/481111-1114-abc";
  const masked = "https://api.midtrans.com/v2/3ds/redirect/[secret]";
  assert.equal(maskText(`{"redirect_url":"${url}"}`), `{"redirect_url":"${masked}"}`);
  const escape = (text: string) => text.replaceAll("/", "\\/");
  assert.equal(maskText(`"${escape(url)}"`), `"${escape(masked)}"`);
  const header = `Authorization: Basic ${btoa("some other key:")}`;
  assert.equal(maskText(header), "Authorization: Basic [secret]");
  assert.equal(maskText("Basic trousers, black"), "Basic trousers, black");
});

Deno.test("mask: hides known secrets anywhere and in every encoding", () => {
  const token = 'a/b+c="d e';
  const encodings = [token, encodeURIComponent(token), JSON.stringify(token), 'a\\/b+c=\\"d e'];
  for (const text of encodings) assert.equal(maskText(`<${text}>`, [token]).includes("d"), false);
  assert.equal(maskText("x abcdefghij", ["abcdefgh", "abcdefghij"]), "x [secret]");
  assert.equal(
    maskText("CVV 123 is wrong, 1234 is not it", ["123"]),
    "CVV [secret] is wrong, 1234 is not it",
  );
});

Deno.test("mask: handles large hostile texts in reasonable time", () => {
  const mebibyte = 1_048_576;
  const hostile = [
    `{"token":"${"a".repeat(mebibyte)}`,
    `{"token":"${"\\\\".repeat(mebibyte / 2)}`,
    `{"token":${"[".repeat(mebibyte)}`,
    '{"token":'.repeat(mebibyte / 10),
    "1 ".repeat(mebibyte / 2),
    "1".repeat(mebibyte),
    `"${" ".repeat(mebibyte)}`,
  ];
  for (const text of hostile) assert.ok(maskText(text, [CARD, "123"]).length <= text.length + 20);
});

Deno.test("exchange: has the exact text of request and response, and the attempt number", async () => {
  const body = '{"status_code":"200",  "order_id":"order-101","unknown":1.0}';
  let count = 0;
  await using fake = openFakeGateway(() =>
    count++ === 0 ? new Response("Bad\r\nGateway", { status: 502 }) : new Response(body)
  );
  const exchanges: Exchange[] = [];
  const gateway = clientFor(fake.url, {
    onExchange: (each) => exchanges.push(each),
    clock: () => 0,
  });
  await gateway.getStatus("order-101");
  await gateway.refund("order-101", "refund-1", 5_000);
  const common = {
    requestHeaders: {
      Accept: "application/json",
      "Content-Type": "application/json",
      Authorization: "Basic [secret]",
    },
    failure: "answered",
    durationMs: 0,
  };
  const status = {
    ...common,
    method: "GET",
    url: `${fake.url}/v2/order-101/status`,
    requestText: null,
  };
  assert.deepEqual(exchanges, [
    { ...status, status: 502, responseText: "Bad\r\nGateway", attempt: 1 },
    { ...status, status: 200, responseText: body, attempt: 2 },
    {
      ...common,
      method: "POST",
      url: `${fake.url}/v2/order-101/refund`,
      requestText: '{"refund_key":"refund-1","amount":5000}',
      status: 200,
      responseText: body,
      attempt: 1,
    },
  ]);
});

Deno.test("exchange: is also reported for a call without a response", async () => {
  const exchanges: Exchange[] = [];
  const gateway = clientFor(UNREACHABLE_URL, { onExchange: (each) => exchanges.push(each) });
  await assert.rejects(gateway.cancel("order-101"));
  assert.equal(exchanges.length, 1);
  assert.equal(exchanges[0]!.failure, "unreachable");
  assert.equal(exchanges[0]!.status, null);
  assert.equal(exchanges[0]!.responseText, null);
});

Deno.test("exchange: is logged as gateway_exchange with secrets masked", async () => {
  await using fake = openFakeGateway(respondWith({ status_code: "200", token_id: "secret-token" }));
  let text = "";
  const log = createLog((lines) => text += lines);
  await clientFor(fake.url, { onExchange: logExchanges(log) })
    .getCardToken(CARD, 1, 2030, "123");
  log.flush();
  const line = JSON.parse(text);
  assert.equal(line.event, "gateway_exchange");
  assert.equal(
    line.url,
    `${fake.url}/v2/token?client_key=[secret]&card_number=[secret]` +
      "&card_exp_month=1&card_exp_year=2030&card_cvv=[secret]",
  );
  assert.equal(line.response_text, '{"status_code":"200","token_id":"[secret]"}');
  assert.equal(line.attempt, 1);
});

/** All text of an error that could appear in a log or a response. */
function textOf(error: GatewayError): string {
  let text = JSON.stringify(error.data) + JSON.stringify(error.validationMessages);
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    text += `\n${each.name} ${each.message} ${each.stack}`;
  }
  return text + Deno.inspect(error, { depth: 10 });
}

Deno.test("error: does not contain the card if the gateway is unreachable", async () => {
  for (const secrets of [[CARD, "987"], ["4811 1111 1111 1114", "9876"]] as const) {
    const error = await clientFor(UNREACHABLE_URL).getCardToken(secrets[0], 1, 2030, secrets[1])
      .catch((error) => error);
    const text = textOf(error);
    for (const secret of [...secrets, secrets[0].replaceAll(" ", "+"), CLIENT_KEY, SERVER_KEY]) {
      assert.ok(!text.includes(secret), text);
    }
    assert.doesNotMatch(text, /card_number=/);
    assert.match(error.cause.message, /refused/i, "the cause is still readable");
  }
});

const secret = fc.string({ minLength: 8, maxLength: 40 })
  // Only secrets that cannot occur in the test's own text by chance.
  .filter((text) => /[^\s\w[\]{}":,]/.test(text) && text.trim().length >= 8);
const digits = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 12, maxLength: 18 });
const cardNumber = digits.map((list) => {
  const payload = "4" + list.slice(1).join("");
  const check = [..."0123456789"].find((digit) => passesLuhn(payload + digit))!;
  return payload + check;
});

function passesLuhn(number: string): boolean {
  return [...number].reverse().reduce((sum, digit, index) => {
        const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
        return sum + (value > 9 ? value - 9 : value);
      }, 0) % 10 === 0;
}

Deno.test("mask: no secret of a request or a response appears in an exchange or an error", async () => {
  interface Secrets {
    card: string;
    token: string;
    signature: string;
    saved: string;
  }
  let answer: (secrets: Secrets) => unknown = () => ({});
  let secrets: Secrets;
  await using fake = openFakeGateway(() => {
    const body = answer(secrets);
    return typeof body === "string" ? new Response(body) : Response.json(body);
  });
  const exchanges: Exchange[] = [];
  const gateway = clientFor(fake.url, { onExchange: (each) => exchanges.push(each) });

  /** A response that repeats the secrets in their own fields and inside of other texts. */
  const echo = (status_code: string) => ({ card, token, signature, saved }: Secrets) => ({
    status_code,
    status_message: `Card ${card} with token ${token} of ${SERVER_KEY} is not ${saved}`,
    validation_messages: [`token_id ${token} is wrong`, `card ${card}`],
    saved_token_id: saved,
    signature_key: signature,
    nested: [{ token, card_number: card, note: `${token} ${card}` }],
    [`key ${token}`]: 1,
  });
  const answers = [
    echo("400"),
    echo("200"),
    echo("500"),
    (each: Secrets) =>
      JSON.stringify({ saved_token_id: each.saved, token: each.token }).slice(0, -3),
  ];
  const property = fc.asyncProperty<[Secrets, number]>(
    fc.record({ card: cardNumber, token: secret, signature: secret, saved: secret }),
    fc.integer({ min: 0, max: answers.length - 1 }),
    async (generated, kind) => {
      secrets = generated;
      answer = answers[kind]!;
      exchanges.length = 0;
      const { card, token } = generated;
      const charge = {
        payment_type: "credit_card",
        transaction_details: { order_id: "order-101", gross_amount: 1 },
        credit_card: { token_id: token, card: { number: card, cvv: "987" } },
      };
      const calls = [
        gateway.charge(charge),
        gateway.getCardToken(card, 1, 2030, "987"),
        gateway.pointInquiry(token),
        gateway.createSubscription({ token, metadata: { deep: [{ token }] } }),
        gateway.createPayAccount({ gopay: { payment_option_token: token, card_number: card } }),
      ];
      const errors = (await Promise.allSettled(calls))
        .flatMap((each) => each.status === "rejected" ? [textOf(each.reason)] : []);
      assert.ok(exchanges.length >= calls.length);
      const text = JSON.stringify(exchanges) + exchanges.map((each) => Object.values(each)).join();
      for (
        const value of [...Object.values(generated), SERVER_KEY, CLIENT_KEY, btoa(`${SERVER_KEY}:`)]
      ) {
        const encodings = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
        for (const each of encodings) {
          assert.ok(!text.includes(each), `leaked ${each}: ${text}`);
          for (const error of errors) assert.ok(!error.includes(each), `leaked ${each}: ${error}`);
        }
      }
    },
  );
  await fc.assert(property, { numRuns: 150 });
});
