import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { ServiceError } from "../../core/errors.ts";
import { list } from "../../core/fields/input.ts";
import { parseNotification } from "../../core/notifications/parse.ts";
import { replaceInexact, scanJson } from "../../http/middleware/json_text.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { fc } from "../support/fast_check.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();
const JSON_TYPE = { "Content-Type": "application/json" };

async function postText({ app, key }: TestPayments, path: string, body: string): Promise<Response> {
  return await app.as(key, path, { method: "POST", headers: JSON_TYPE, body });
}

/** Each text exceeds one limit. None is valid JSON, so a parser would report another error. */
const TOO_COMPLEX = {
  "20,001 brackets": "[".repeat(20_001),
  "20,001 commas": `[${"1,".repeat(20_001)}`,
  "a large object": `{${Array.from({ length: 2_601 }, (_, i) => `"k${i}":1`).join(",")}`,
  "45,001 escape sequences": `"${"\\n".repeat(45_001)}`,
  "1,001 long fractions": `[${"0.1234567890123456,".repeat(1_001)}`,
};

Deno.test("body: on every route, a body that is too complex is rejected before it is parsed", async () => {
  await using app = await openApp({ databaseUrl });
  const key = await app.createKey({ isStaff: true });
  const operations = Object.entries(app.document().paths!).flatMap(([path, methods]) =>
    Object.keys(methods!).filter((method) => method === "post" || method === "patch")
      .map((method) => ({ method: method.toUpperCase(), path }))
  );
  assert.ok(operations.length >= 15);
  for (const { method, path } of operations) {
    const url = path.replace("{action_name}", "cancel").replaceAll(/\{\w+\}/g, randomUUID());
    for (const [what, body] of Object.entries(TOO_COMPLEX)) {
      const response = await app.as(key, url, { method, headers: JSON_TYPE, body });
      const message = /must have at most \d+ structural characters/;
      if (path === "/reconciliations/") {
        await assertProblem(response, 415, "unsupported_media_type");
      } else if (path === "/notification/") {
        const { errors } = await assertProblem(response, 400, "validation_error");
        assert.deepEqual(errors!.map(({ field }) => field), ["body"], what);
        assert.match(errors![0]!.message, message);
      } else {
        const { detail } = await assertProblem(response, 413, "payload_too_large");
        assert.match(detail!, message, `${method} ${path}: ${what}`);
      }
    }
  }
});

Deno.test("body: structural characters inside of strings do not count", () => {
  const text = JSON.stringify({ a: '{}[]:,"\\'.repeat(10_000) });
  assert.deepEqual(scanJson(text, { structure: 3 }).isTooComplex, false);
  assert.deepEqual(scanJson(text, { structure: 2 }).isTooComplex, true);
});

Deno.test("body: a charge with 1,000 complete items is accepted", async () => {
  await using payments = await openPayments();
  const item = { id: "{1,2}", name: "n", price: 40, quantity: 1, brand: "b", category: "c" };
  const item_details = Array(1_000).fill({ ...item, merchant_name: "m", url: "u" });
  const charge = { payment_type: "gopay", gross_amount: 40_000, item_details };
  const response = await payments.post("/charge/", charge);
  assert.equal(response.status, 201, await response.text());
});

Deno.test("notification: only the signed fields are read before the signature is verified", () => {
  const read: string[] = [];
  const body = new Proxy({
    order_id: "A-1",
    transaction_status: "settlement",
    status_code: "200",
    gross_amount: "44000.00",
    signature_key: "wrong",
    refunds: [{}],
  }, {
    get(target, name) {
      read.push(String(name));
      return Reflect.get(target, name);
    },
    ownKeys: () => assert.fail("the body is copied"),
  });
  const parse = () => parseNotification(body, { verifySignature: () => false });
  assert.throws(
    parse,
    (thrown) => thrown instanceof ServiceError && thrown.code === "signature_invalid",
  );
  assert.ok(read.includes("order_id") && !read.includes("refunds"), read.join());
});

Deno.test("list: if it is too long, no element is validated", () => {
  let validated = 0;
  const schema = list(z.unknown().refine(() => ++validated > 0), 3);
  const { error } = schema.safeParse(Array(1_000).fill(1));
  assert.deepEqual(error!.issues.map(({ message }) => message), ["must have at most 3 elements"]);
  assert.equal(validated, 0);
  assert.ok(schema.safeParse([1, 2, 3]).success);
  assert.equal(validated, 3);
});

Deno.test("list: elements after 20 invalid ones are not validated, and the list is rejected", async () => {
  let validated = 0;
  const schema = z.object({
    items: list(z.number().refine((value) => ++validated > 0 && value > 0), 1_000),
  });
  const invalid = { items: Array(1_000).fill(-1) };
  const valid = { items: Array(1_000).fill(1) };
  for (const parse of [schema.safeParse, schema.safeParseAsync]) {
    validated = 0;
    assert.equal((await parse(invalid)).success, false);
    assert.equal(validated, 20);
    // The count of invalid elements starts again with the next input.
    assert.equal((await parse(valid)).success, true);
    assert.equal(validated, 1_020);
    assert.equal((await parse({ items: [...Array(999).fill(1), -1] })).success, false);
    const { error } = await parse({ items: [...Array(30).fill(-1), ...Array(900).fill(1)] });
    assert.equal(error!.issues.length, 20);
  }
});

Deno.test("metadata: with too many members or values, is rejected as too long", async () => {
  await using payments = await openPayments({ databaseUrl });
  const members = Array.from({ length: 2_400 }, (_, index) => [`name-${index}`, 1]);
  for (const metadata of [Object.fromEntries(members), { a: Array(7_600).fill(1) }]) {
    const charge = { payment_type: "gopay", gross_amount: 1, metadata };
    const { errors } = await assertProblem(
      await payments.post("/charge/", charge),
      400,
      "validation_error",
    );
    assert.deepEqual(errors, [{
      field: "metadata",
      message: "must be at most 15000 characters as JSON",
    }]);
  }
});

/** The value of a decimal number as a fraction of integers: exact, unlike a JavaScript number. */
function exactValue(number: string): { numerator: bigint; denominator: bigint } {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const shift = Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  return shift >= 0
    ? { numerator: digits * 10n ** BigInt(shift), denominator: 1n }
    : { numerator: digits, denominator: 10n ** BigInt(-shift) };
}

Deno.test("numbers: a decimal number is read as an integer only if its exact value is whole", async () => {
  const digits = fc.constantFrom("0", "1", "9", "00", "99", "4", "000000000", "999999999");
  const property = fc.asyncProperty(
    fc.constantFrom("", "-"),
    fc.constantFrom("0", "1", "9", "10000", "99999", "9999999999999"),
    fc.array(digits, { maxLength: 5 }),
    fc.constantFrom("", "e0", "e1", "E+4", "e-1", "e-5", "e-330", "e12"),
    (sign, whole, fraction, exponent) => {
      const number = sign + whole + (fraction.length > 0 ? `.${fraction.join("")}` : "") + exponent;
      const text = `{"é":"1.000000000000000000001","a":[${number}, 7]}`;
      const scan = scanJson(text, { structure: 100 });
      const { a: [value, other] } = JSON.parse(replaceInexact(text, scan));
      const { numerator, denominator } = exactValue(number);
      const isWhole = numerator % denominator === 0n;
      if (Math.abs(value) < 2 ** 50) assert.equal(Number.isInteger(value), isWhole, number);
      if (isWhole) assert.equal(value, Number(number));
      assert.ok(Math.abs(value - Number(number)) <= Math.abs(value) * 3e-16 + Number.MIN_VALUE);
      assert.equal(other, 7);
      return Promise.resolve();
    },
  );
  await fc.assert(property, { numRuns: 20_000 });
});

const NOT_WHOLE = [
  "0.99999999999999999999",
  "10000.0000000000001",
  "9999.9999999999999999",
  "1.0000000000000000000001e4",
  "100000000000000000000001e-19",
];

const WHOLE = ["44000.00", "4.4e4", "440000e-1", "0.44E+5", "44000.00000000000000000000"];

Deno.test("charge: an amount, price or quantity that is almost whole is rejected, and nothing is charged", async () => {
  await using payments = await openPayments();
  for (const number of NOT_WHOLE) {
    const order_id = randomUUID();
    const bodies = {
      "gross_amount": `"gross_amount":${number}`,
      "item_details.0.price":
        `"gross_amount":10000,"item_details":[{"name":"a","price":${number},"quantity":1}]`,
      "item_details.0.quantity":
        `"gross_amount":10000,"item_details":[{"name":"a","price":10000,"quantity":${number}}]`,
    };
    for (const [name, fields] of Object.entries(bodies)) {
      const body = `{"payment_type":"gopay","order_id":"${order_id}",${fields}}`;
      const response = await postText(payments, "/charge/", body);
      const { errors } = await assertProblem(response, 400, "validation_error");
      assert.deepEqual(errors!.map(({ field }) => field), [name], number);
      assert.match(errors![0]!.message, /must be a whole number/);
    }
    assert.deepEqual(await payments.transactions(order_id), []);
  }
});

Deno.test("charge: an amount that is whole in another notation is charged", async () => {
  await using payments = await openPayments();
  for (const number of WHOLE) {
    const body = `{"payment_type":"gopay","gross_amount":${number}}`;
    const response = await postText(payments, "/charge/", body);
    const text = await response.text();
    assert.equal(response.status, 201, text);
    assert.equal(JSON.parse(text).gross_amount, "44000.00", number);
  }
});

Deno.test("refund, capture, invoice and subscription: an amount that is almost whole is rejected", async () => {
  await using payments = await openPayments();
  const paid = await payments.paid("gopay");
  const authorized = await payments.charge("card_auth");
  const requests: [path: string, field: string, body: (number: string) => string][] = [
    [`/payments/${paid.id}/refund/`, "amount", (number) => `{"amount":${number}}`],
    [`/payments/${authorized.id}/capture/`, "amount", (number) => `{"amount":${number}}`],
    [
      "/invoices/",
      "items.0.price",
      (number) =>
        `{"customer_name":"B","due_date":"2099-12-31","items":` +
        `[{"description":"a","price":${number},"quantity":1}]}`,
    ],
    [
      "/subscriptions/",
      "amount",
      (number) =>
        `{"name":"a","amount":${number},"payment_type":"credit_card","token":"t",` +
        `"interval":1,"interval_unit":"month"}`,
    ],
  ];
  for (const [path, field, body] of requests) {
    for (const number of NOT_WHOLE) {
      const response = await postText(payments, path, body(number));
      const { errors } = await assertProblem(response, 400, "validation_error");
      assert.deepEqual(errors!.map(({ field }) => field), [field], `${path} ${number}`);
    }
  }
  assert.deepEqual(await payments.read(paid.id), paid);
});
