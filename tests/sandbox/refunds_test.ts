import assert from "node:assert/strict";
import { type Kind, linkedAccount, openSandbox } from "../support/gateway/sandbox.ts";

const DAY = 86_400;

Deno.test("partial refund: returns its own amount, and a refund without an amount covers the rest", async () => {
  await using box = await openSandbox();
  const { transaction_id, order_id } = await box.paid("card");
  const path = `/v2/${order_id}/refund`;
  const first = await box.post(path, { refund_key: "one", amount: 4_000, reason: "Torn" });
  assert.deepEqual(pick(first), {
    status_code: "200",
    status_message: "Success, refund offline request is approved",
    transaction_status: "partial_refund",
    gross_amount: "44000.00",
    refund_chargeback_id: 1,
    refund_amount: "4000.00",
    refund_key: "one",
  });
  // A refund returns its own amount; a direct refund returns the sum of all refunds.
  const second = await box.post(path, { refund_key: "two", amount: 10_000 });
  assert.deepEqual([second.refund_amount, second.refund_chargeback_id], ["10000.00", 2]);
  const third = await box.post(`${path}/online/direct`, { refund_key: "three", amount: 10_000 });
  assert.equal(third.refund_amount, "24000.00");
  assert.equal(third.status_message, "Success, refund request is approved by the bank");

  const status = await box.status(transaction_id);
  assert.equal(status.transaction_status, "partial_refund");
  assert.equal(status.refund_amount, "24000.00");
  assert.equal(status.status_message, "Success, refund request is approved by the bank");
  assert.deepEqual(
    status.refunds.map((refund: Record<string, unknown>) => [
      refund.refund_chargeback_id,
      refund.refund_amount,
      refund.refund_key,
      refund.refund_method,
      refund.reason,
    ]),
    [
      [1, "4000.00", "one", "offline", "Torn"],
      [2, "10000.00", "two", "offline", "refund request from merchant"],
      [3, "10000.00", "three", "online", "refund request from merchant"],
    ],
  );

  const rest = await box.post(path, {});
  assert.deepEqual([rest.transaction_status, rest.refund_amount], ["refund", "20000.00"]);
  assert.match(rest.refund_key, /./);
  assert.equal((await box.status(order_id)).refund_amount, "44000.00");
});

function pick(answer: Record<string, unknown>) {
  const { status_code, status_message, transaction_status, gross_amount } = answer;
  const { refund_chargeback_id, refund_amount, refund_key } = answer;
  return {
    status_code,
    status_message,
    transaction_status,
    gross_amount,
    refund_chargeback_id,
    refund_amount,
    refund_key,
  };
}

Deno.test("refund above the remaining amount: is rejected with 414 and changes nothing", async () => {
  await using box = await openSandbox();
  const { order_id } = await box.paid("gopay");
  const refund = (amount: number) =>
    box.call("POST", `/v2/${order_id}/refund`, { refund_key: `k${amount}`, amount });
  assert.equal((await refund(44_001)).body.status_code, "414");
  assert.equal((await refund(40_000)).body.status_code, "200");
  const { http, body } = await refund(4_001);
  assert.deepEqual([http, body.status_code], [200, "414"]);
  assert.equal(body.status_message, "Refund request is rejected due to invalid amount");
  assert.equal((await box.status(order_id)).refund_amount, "40000.00");
});

Deno.test("refund with a used key: is rejected with 406, also after a full refund", async () => {
  await using box = await openSandbox();
  const { order_id } = await box.paid("gopay");
  const refund = (refund_key: string, amount?: number) =>
    box.call("POST", `/v2/${order_id}/refund`, { refund_key, amount });
  await refund("one", 1_000);
  const { http, body } = await refund("one", 1_000);
  assert.deepEqual([http, body.status_code], [200, "406"]);
  assert.equal(body.status_message, "Duplicate refund ID");
  await refund("rest");
  assert.equal((await refund("rest")).body.status_code, "406");
  assert.equal((await refund("another")).body.status_code, "412");
  assert.equal((await box.status(order_id)).refunds.length, 2);
});

Deno.test("direct refund declined by the bank: keeps the settlement and does not use up the key", async () => {
  await using box = await openSandbox();
  const { order_id } = await box.paid("gopay");
  await box.waitForWebhooks();
  const before = box.hooks.length;
  await box.fault("direct_refund", "bank_refuses");
  const path = `/v2/${order_id}/refund/online/direct`;
  const { http, body } = await box.call("POST", path, { refund_key: "k" });
  assert.equal(http, 200);
  assert.equal(body.status_code, "202");
  assert.equal(body.status_message, "Refund denied by the bank");
  assert.equal(body.transaction_status, "settlement");
  assert.equal(body.refund_amount, "0.00");
  await box.waitForWebhooks();
  assert.equal(box.hooks.length, before);
  assert.equal((await box.post(path, { refund_key: "k" })).status_code, "200");
});

Deno.test("refund: sends two webhooks, the second with the bank's confirmation", async () => {
  await using box = await openSandbox();
  const { order_id } = await box.paid("gopay");
  await box.post(`/v2/${order_id}/refund`, { amount: 1_000 });
  await box.post(`/v2/${order_id}/refund`, { amount: 2_000 });
  await box.advance(3_600);
  const bodies = box.hooks.map(({ body }) => body).filter(({ refunds }) => refunds);
  assert.deepEqual(
    bodies.map(({ refunds, refund_amount, transaction_status, status_code }) => [
      refunds.map(({ bank_confirmed_at }: Record<string, unknown>) =>
        bank_confirmed_at !== undefined
      ),
      refund_amount,
      transaction_status,
      status_code,
    ]),
    [
      [[false], "1000.00", "partial_refund", "200"],
      [[false, false], "3000.00", "partial_refund", "200"],
      [[true, false], "3000.00", "partial_refund", "200"],
      [[true, true], "3000.00", "partial_refund", "200"],
    ],
  );
});

Deno.test("refund confirmation: can be triggered at once", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.paid("gopay");
  await box.post(`/v2/${transaction_id}/refund`, {});
  await box.control(`transactions/${transaction_id}/confirm_refund`);
  assert.match(box.hooks.at(-1)!.body.refunds[0].bank_confirmed_at, /^\d{4}-/);
  const again = await box.call("POST", `/_sandbox/transactions/${transaction_id}/confirm_refund`);
  assert.equal(again.http, 412);
});

Deno.test("refund pending at the bank: completes the refund when it is confirmed after the refund of the rest", async () => {
  await using box = await openSandbox();
  const { order_id } = await box.paid("gopay");
  await box.fault("refund", "bank_pending");
  await box.post(`/v2/${order_id}/refund`, { amount: 1_000 });
  const rest = await box.post(`/v2/${order_id}/refund`, {});
  assert.deepEqual([rest.transaction_status, rest.refund_amount], ["partial_refund", "43000.00"]);
  await box.advance(3_600);
  const { transaction_status, refund_amount } = await box.status(order_id);
  assert.deepEqual([transaction_status, refund_amount], ["refund", "44000.00"]);
});

Deno.test("refund pending at the bank: is confirmed after a chargeback, which remains the status", async () => {
  await using box = await openSandbox();
  const { order_id } = await box.paid("card");
  await box.fault("refund", "bank_pending");
  const refund = await box.post(`/v2/${order_id}/refund`, { amount: 1_000 });
  assert.equal(refund.status_code, "201");
  await box.control(`transactions/${order_id}/chargeback`);
  await box.control(`transactions/${order_id}/confirm_refund`);
  const { transaction_status, refunds } = await box.status(order_id);
  assert.equal(transaction_status, "chargeback");
  assert.match(refunds[0].bank_confirmed_at, /^\d{4}-/);
});

const NEVER = { refund: false, direct: false, partial: false, days: 0 };

/** Which methods support refunds, direct refunds and partial refunds, and for how many days. */
const RULES: [Kind, { refund: boolean; direct: boolean; partial: boolean; days: number }][] = [
  ["card", { refund: true, direct: true, partial: true, days: 180 }],
  ["gopay", { refund: true, direct: true, partial: true, days: 45 }],
  ["qris", { refund: true, direct: true, partial: true, days: 45 }],
  ["shopeepay", { refund: true, direct: true, partial: true, days: 365 }],
  ["dana", { refund: true, direct: false, partial: true, days: 45 }],
  ["ovo", { refund: true, direct: false, partial: false, days: 7 }],
  ["akulaku", { refund: true, direct: true, partial: true, days: 180 }],
  ["kredivo", { refund: true, direct: true, partial: true, days: 14 }],
  ...(["bca", "bni", "bri", "cimb", "permata", "echannel", "indomaret", "alfamart"] as const)
    .map((kind): [Kind, typeof NEVER] => [kind, NEVER]),
];

for (const [kind, { refund, direct, partial, days }] of RULES) {
  Deno.test(`refunds of ${kind}: follow the rules of the payment method`, async () => {
    await using box = await openSandbox();
    const code = async (path: string, body: object, daysLater = 0) => {
      const { transaction_id } = await box.paid(kind);
      await box.advance(daysLater * DAY);
      return (await box.post(`/v2/${transaction_id}/${path}`, body)).status_code;
    };
    assert.equal(await code("refund", {}), refund ? "200" : "412");
    assert.equal(await code("refund/online/direct", {}), direct ? "200" : "412");
    if (!refund) return;
    assert.equal(await code("refund", { amount: 1_000 }), partial ? "200" : "414");
    assert.equal(await code("refund", {}, days - 1), "200");
    assert.equal(await code("refund", {}, days + 1), "412");
  });
}

Deno.test("refund period of GoPay and QRIS: depends on how the payment was made", async () => {
  await using box = await openSandbox();
  const gopay = await linkedAccount(box);
  const tokenized = (await box.charge("gopay", { gopay })).transaction_id;
  const scanned = (await box.charge("qris")).transaction_id;
  await box.control(`transactions/${scanned}/pay`, { issuer: "dana" });
  assert.equal(box.hooks.at(-1)!.body.transaction_type, "off-us");
  await box.advance(8 * DAY);
  assert.equal((await box.post(`/v2/${scanned}/refund`, {})).status_code, "412");
  await box.advance(170 * DAY);
  assert.equal((await box.post(`/v2/${tokenized}/refund`, {})).status_code, "200");
});

Deno.test("direct refund of a card: depends on the acquiring bank and its channel", async () => {
  await using box = await openSandbox();
  const code = async (bank: string, channel?: string) => {
    const { transaction_id } = await box.paid("card", { credit_card: { bank, channel } });
    return (await box.post(`/v2/${transaction_id}/refund/online/direct`, {})).status_code;
  };
  for (const bank of ["bca", "maybank", "bri"]) assert.equal(await code(bank), "200", bank);
  for (const bank of ["mandiri", "cimb", "mega"]) assert.equal(await code(bank), "412", bank);
  assert.equal(await code("bni", "cybersource"), "200");
  assert.equal(await code("bni", "dragon"), "412");
});

Deno.test("refunds of GoPay and OVO: return additional fields", async () => {
  await using box = await openSandbox();
  const gopay = await box.paid("gopay");
  const first = await box.post(`/v2/${gopay.transaction_id}/refund`, {});
  assert.match(first.refund_chargeback_uuid, /^[0-9a-f-]{36}$/);
  const ovo = await box.paid("ovo");
  const second = await box.post(`/v2/${ovo.transaction_id}/refund`, {});
  assert.equal(second.payer_phone_number, "+628123456789");
  assert.match(second.merchant_invoice, /./);
});

Deno.test("refund: validates key, amount and reason", async () => {
  await using box = await openSandbox();
  const { order_id } = await box.paid("gopay");
  const wrong = { refund_key: "no spaces", amount: 1.5, reason: "x".repeat(256) };
  const { http, body } = await box.call("POST", `/v2/${order_id}/refund`, wrong);
  assert.deepEqual([http, body.status_code, body.validation_messages.length], [400, "400", 3]);
});

Deno.test("refunds of one transaction: 100 are stored and sent in webhooks, the next one is rejected", async () => {
  const path = await Deno.makeTempFile();
  try {
    await using box = await openSandbox({ path });
    const { order_id } = await box.paid("gopay");
    for (let i = 0; i < 100; i++) {
      const reason = "理".repeat(255);
      const answer = await box.post(`/v2/${order_id}/refund`, { amount: 1, reason });
      assert.equal(answer.status_code, "200");
    }
    assert.equal((await box.post(`/v2/${order_id}/refund`, { amount: 1 })).status_code, "412");
    await box.waitForWebhooks();
    assert.equal((await box.status(order_id)).refunds.length, 100);
    assert.equal(box.hooks.at(-1)!.body.order_id, order_id);
  } finally {
    for (const end of ["", "-shm", "-wal", ".lock"]) await Deno.remove(path + end).catch(() => {});
  }
});
