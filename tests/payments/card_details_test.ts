import assert from "node:assert/strict";
import { parse } from "csv-parse/sync";
import { cardOf, mergeCard, viewCard } from "../../core/payments/card.ts";
import { Transaction } from "../../core/gateway/responses.ts";
import { createDatabase } from "../support/database/database.ts";
import { notify } from "../support/gateway/notifications.ts";
import { openPayments } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase();

const MASKED = { masked_number: "48111111-1114", brand: "visa" };

Deno.test("card details: a charge, a notification and an export have number, brand, approval code and 3-D Secure", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const plain = await payments.charge("card");
  assert.match(plain.card!.approval_code!, /^\w+$/);
  assert.deepEqual(plain.card, {
    ...MASKED,
    approval_code: plain.card!.approval_code,
    three_d_secure: "not_authenticated",
    three_d_secure_version: null,
    eci: "07",
  });

  const secure = await payments.charge("card_3ds");
  const { masked_number, approval_code } = secure.card!;
  assert.deepEqual([masked_number, approval_code], ["48111111-1114", null]);
  sandbox.receiver.answer = ({ body }) => notify(payments, body);
  await sandbox.control(`transactions/${secure.transaction_id}/three_ds`, { result: "success" });
  await sandbox.waitForWebhooks();
  sandbox.receiver.answer = () => new Response("OK");
  const { card, transaction_status } = await payments.read(secure.id);
  assert.equal(transaction_status, "capture");
  assert.deepEqual(
    [card!.three_d_secure, card!.three_d_secure_version, card!.eci],
    ["authenticated", "2", "05"],
  );
  assert.match(card!.approval_code!, /^\w+$/, "the notification has the rest");

  assert.equal((await payments.charge("gopay")).card, null);
  const csv = await (await payments.get("/exports/payments/")).text();
  const rows: Record<string, string>[] = parse(csv, { columns: true, bom: true });
  const row = rows.find(({ id }) => id === secure.id)!;
  assert.deepEqual(
    [row.card_number, row.card_brand, row.card_approval_code, row.card_three_d_secure],
    ["48111111-1114", "visa", card!.approval_code, "authenticated"],
  );
});

Deno.test("card details: never contain more digits than the gateway masks, and unconfirmed reports only add", () => {
  const read = (masked_card: string, more = {}) =>
    cardOf(Transaction.parse({ payment_type: "credit_card", masked_card, ...more }));
  assert.equal(read("4811111111111114"), null);
  assert.equal(read("48111111-111111114"), null);
  assert.equal(read("481111******1114")!.masked_number, "481111******1114");
  assert.equal(cardOf(Transaction.parse({ payment_type: "cstore", approval_code: "1" })), null);
  const known = read("521111-1117", { eci: "02" })!;
  assert.equal(mergeCard(known, read("481111-1114"), true)!.masked_number, "521111-1117");
  assert.equal(mergeCard(known, read("521111-1117"), false), known, "nothing new: not written");
  const { approval_code } = mergeCard(known, read("521111-1117", { approval_code: "9" }), true)!;
  assert.equal(approval_code, "9");
  const brands = ["411111-1111", "521111-1117", "271999-1111", "352811-1111", "371111-1111"];
  assert.deepEqual(
    brands.map((number) => viewCard(read(number)!).brand),
    ["visa", "mastercard", "mastercard", "jcb", "amex"],
  );
  assert.equal(viewCard(known).three_d_secure, "authenticated", "as Mastercard writes it");
});
