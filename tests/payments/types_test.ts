import assert from "node:assert/strict";
import { PAYMENT_TYPES } from "../../core/payments/payment_types.ts";
import { createDatabase } from "../support/database/database.ts";
import {
  assertMembers,
  CHARGE_KINDS,
  type ChargeKind,
  chargeRequest,
  openPayments,
  parsePayment,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { ACCEPTED_CARD, AMOUNT, CUSTOMER, type Json } from "../support/gateway/sandbox.ts";

const databaseUrl = await createDatabase();

/** The fields that tell a customer how to pay. */
const INSTRUCTIONS = [
  "va_number",
  "bill_key",
  "biller_code",
  "payment_code",
  "redirect_url",
  "deeplink_url",
  "qr_string",
  "qr_url",
] as const;

type Instruction = (typeof INSTRUCTIONS)[number];

interface Expected {
  /** The instructions that the customer needs. */
  needs: Instruction[];
  /** Fields that name the bank, store or acquirer. */
  issuer?: Partial<Payment>;
  /** Seconds until the payment expires. */
  seconds: number;
}

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

const EXPECTED: Record<Exclude<ChargeKind, "card" | "card_auth">, Expected> = {
  card_3ds: { needs: ["redirect_url"], seconds: 10 * MINUTE },
  bca: { needs: ["va_number"], issuer: { bank: "bca" }, seconds: DAY },
  bni: { needs: ["va_number"], issuer: { bank: "bni" }, seconds: DAY },
  bri: { needs: ["va_number"], issuer: { bank: "bri" }, seconds: DAY },
  cimb: { needs: ["va_number"], issuer: { bank: "cimb" }, seconds: DAY },
  permata: { needs: ["va_number"], issuer: { bank: "permata" }, seconds: DAY },
  echannel: { needs: ["bill_key", "biller_code"], seconds: DAY },
  gopay: { needs: ["deeplink_url", "qr_url"], seconds: 15 * MINUTE },
  shopeepay: { needs: ["deeplink_url"], seconds: 15 * MINUTE },
  // The OVO app prompts the customer.
  ovo: { needs: [], seconds: 65 },
  dana: { needs: ["deeplink_url"], seconds: 15 * MINUTE },
  qris: { needs: ["qr_string", "qr_url"], issuer: { acquirer: "gopay" }, seconds: 15 * MINUTE },
  cstore: { needs: ["payment_code"], issuer: { store: "alfamart" }, seconds: DAY },
  akulaku: { needs: ["redirect_url"], seconds: 120 * MINUTE },
  kredivo: { needs: ["redirect_url"], seconds: DAY },
};

Deno.test("payment types: these tests cover all eleven types", async () => {
  await using payments = await openPayments({ databaseUrl });
  const requests = await Promise.all(
    CHARGE_KINDS.map((kind) => chargeRequest(payments.sandbox, kind)),
  );
  assert.deepEqual(
    new Set(requests.map(({ payment_type }) => payment_type)),
    new Set(PAYMENT_TYPES),
  );
});

for (const [kind, expected] of Object.entries(EXPECTED) as [ChargeKind, Expected][]) {
  Deno.test(`payment types: ${kind} is charged, paid and settled`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { sandbox } = payments;
    const request = await chargeRequest(sandbox, kind);
    const response = await payments.post("/charge/", request);
    const location = response.headers.get("location");
    const payment = await parsePayment(response, 201);
    const { id, transaction_id } = payment;
    assert.equal(location, `/payments/${id}/`);
    const answered = await sandbox.status(transaction_id!);

    assertMembers(payment, {
      ...expected.issuer,
      payment_type: request.payment_type,
      order_id: answered.order_id,
      gross_amount: "44000.00",
      currency: "IDR",
      transaction_status: "pending",
      status_code: "201",
      captured_amount: null,
      settlement_time: null,
      refund_amount: "0.00",
      net_amount: "0.00",
      is_paid: false,
      is_pending: true,
      is_failed: false,
      is_expired: false,
    });
    assert.deepEqual(
      INSTRUCTIONS.filter((instruction) => payment[instruction] !== null),
      expected.needs,
    );
    await assertLinksOpen(payment);
    assert.equal(payment.transaction_time, toUtc(answered.transaction_time));
    assert.equal(payment.expiry_time, toUtc(answered.expiry_time));
    const lifetime = Date.parse(payment.expiry_time!) - Date.parse(payment.transaction_time!);
    assert.equal(lifetime, expected.seconds * 1_000);
    assert.deepEqual(await payments.read(id), payment, "the response equals the stored payment");

    await sandbox.control(`transactions/${transaction_id}/pay`);
    if (kind === "card_3ds") await sandbox.control(`transactions/${transaction_id}/settle`);
    const settled = await payments.refresh(id);
    const { settlement_time } = await sandbox.status(transaction_id!);
    assertMembers(settled, {
      transaction_id,
      transaction_status: "settlement",
      status_code: "200",
      captured_amount: "44000.00",
      net_amount: "44000.00",
      settlement_time: toUtc(settlement_time),
      transaction_time: payment.transaction_time,
      is_paid: true,
      is_pending: false,
    });
    for (const instruction of expected.needs) {
      assert.equal(settled[instruction], payment[instruction], instruction);
    }
    assert.deepEqual(await payments.read(id), settled);
    assert.deepEqual(await payments.transitions(id), [
      ">pending charge",
      "pending>settlement check_status",
    ]);
    assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
  });
}

Deno.test("payment types: a card without 3-D Secure is captured at once and settled later", async () => {
  await using payments = await openPayments({ databaseUrl });
  const captured = await payments.charge("card");
  assertMembers(captured, {
    payment_type: "credit_card",
    transaction_status: "capture",
    fraud_status: "accept",
    captured_amount: "44000.00",
    net_amount: "44000.00",
    redirect_url: null,
    is_paid: true,
    is_pending: false,
  });
  await payments.sandbox.control("settle");
  const settled = await payments.refresh(captured.id);
  assert.equal(settled.transaction_status, "settlement");
  assert.equal(settled.captured_amount, "44000.00");
  assert.deepEqual(await payments.transitions(captured.id), [
    ">pending charge",
    "pending>capture charge",
    "capture>settlement check_status",
  ]);
  assert.deepEqual(
    await payments.events(captured.id),
    ["payment_settled"],
    "payment_settled is sent once",
  );
});

Deno.test("3-D Secure: a successful authentication captures the card", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("card_3ds");
  await payments.sandbox.control(`transactions/${transaction_id}/three_ds`, { result: "success" });
  const captured = await payments.refresh(id);
  assertMembers(captured, { transaction_status: "capture", fraud_status: "accept", is_paid: true });
  await payments.sandbox.control(`transactions/${transaction_id}/settle`);
  assert.equal((await payments.refresh(id)).transaction_status, "settlement");
  assert.deepEqual(await payments.transitions(id), [
    ">pending charge",
    "pending>capture check_status",
    "capture>settlement check_status",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("3-D Secure: a failed authentication denies the payment", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("card_3ds");
  await payments.sandbox.control(`transactions/${transaction_id}/three_ds`, { result: "failure" });
  const denied = await payments.refresh(id);
  assertMembers(denied, {
    transaction_status: "deny",
    fraud_status: "deny",
    status_message: "3DS Authentication Denied",
    captured_amount: null,
    is_paid: false,
    is_failed: true,
  });
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_denied"]);
});

Deno.test("3-D Secure: is required unless the charge turns authentication off", async () => {
  await using payments = await openPayments({ databaseUrl });
  const card = async (more: Json) =>
    await payments.charge("card_3ds", {
      token_id: await payments.sandbox.token(ACCEPTED_CARD),
      ...more,
    });
  assert.equal((await card({})).transaction_status, "pending");
  assert.equal((await card({ authentication: true })).transaction_status, "pending");
  assert.equal((await card({ authentication: false })).transaction_status, "capture");
});

Deno.test("check_status: stores the expiry of an unpaid payment", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id } = await payments.charge("bca");
  await payments.sandbox.advance(DAY);
  const expired = await payments.refresh(id);
  assertMembers(expired, { transaction_status: "expire", is_expired: true, is_failed: false });
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_expired"]);
});

Deno.test("charge: custom_expiry sets the expiry time in every unit", async () => {
  await using payments = await openPayments({ databaseUrl });
  const units = { second: 1, minute: 60, hour: 3_600, day: 86_400 };
  for (const [unit, seconds] of Object.entries(units)) {
    const { transaction_time, expiry_time } = await payments.charge("bni", {
      custom_expiry: { expiry_duration: 45, unit },
    });
    const lifetime = Date.parse(expiry_time!) - Date.parse(transaction_time!);
    assert.equal(lifetime, 45 * seconds * 1_000, unit);
  }
});

Deno.test("charge: options of a payment type are sent to the gateway", async () => {
  await using payments = await openPayments({ databaseUrl });
  const va = await payments.charge("bca", { va_number: "777777" });
  assert.match(va.va_number!, /777777$/);
  assert.equal((await payments.charge("cstore", { store: "indomaret" })).store, "indomaret");
  const shopee = await payments.charge("qris", { acquirer: "airpay shopee" });
  assert.equal(shopee.acquirer, "airpay shopee");
  const card = await payments.charge("card", { installment_term: 6 });
  const { installment_term } = await payments.sandbox.status(card.transaction_id!);
  assert.equal(installment_term, 6);
});

Deno.test("charge: returns items, customer, custom fields and metadata unchanged", async () => {
  await using payments = await openPayments({ databaseUrl });
  const metadata = {
    cart: "c-1893",
    "": null,
    numbers: [0, -0.5, 1e21],
    nested: { flags: [true, false], text: "ü 🙂 \\ \" '" },
  };
  const items = [
    {
      id: "sku-1",
      name: "Beans",
      price: 23_000,
      quantity: 2,
      brand: "B",
      category: "Food",
      merchant_name: "Shop",
      url: "https://shop.example/beans",
    },
    { name: "Discount", price: -2_000, quantity: 1 },
  ];
  const payment = await payments.charge("bca", {
    order_id: "order-1893~a.b_c",
    customer_details: { ...CUSTOMER, last_name: "Utomo" },
    item_details: items,
    custom_fields: ["branch 12", "till 3"],
    metadata,
  });
  assertMembers(payment, {
    order_id: "order-1893~a.b_c",
    customer_first_name: "Budi",
    customer_last_name: "Utomo",
    customer_email: "budi@shop.example",
    customer_phone: "08123456789",
    custom_field1: "branch 12",
    custom_field2: "till 3",
    custom_field3: null,
    metadata,
  });
  assert.deepEqual(payment.items.map(({ id: _, ...item }) => item), [
    {
      item_id: "sku-1",
      name: "Beans",
      price: "23000.00",
      quantity: 2,
      brand: "B",
      category: "Food",
      merchant_name: "Shop",
      url: "https://shop.example/beans",
      subtotal: "46000.00",
    },
    {
      item_id: null,
      name: "Discount",
      price: "-2000.00",
      quantity: 1,
      brand: null,
      category: null,
      merchant_name: null,
      url: null,
      subtotal: "-2000.00",
    },
  ]);
  assert.deepEqual(await payments.read(payment.id), payment);
  const [transaction] = await payments.transactions(payment.order_id);
  assert.deepEqual(transaction.metadata, { ...metadata, payment_ref: payment.id });
  assert.equal(transaction.custom_field1, "branch 12");
  assert.equal(transaction.custom_field2, "till 3");

  await payments.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  const settled = await payments.refresh(payment.id);
  for (const name of ["items", "metadata", "custom_field1", "customer_email"] as const) {
    assert.deepEqual(settled[name], payment[name], name);
  }
});

Deno.test("charge: the payment_ref sent to the gateway is not part of the returned metadata", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const metadata of [undefined, {}, { cart: "c-1" }]) {
    const payment = await payments.charge("gopay", { metadata });
    const { id, order_id, transaction_id } = payment;
    const [transaction] = await payments.transactions(order_id);
    assert.equal(transaction.metadata.payment_ref, id, "the gateway has it");
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    const settled = await payments.refresh(id);
    for (
      const each of [payment, settled, await payments.read(id), ...await eventData(payments, id)]
    ) {
      assert.deepEqual(each.metadata, metadata ?? null);
    }
  }
});

Deno.test("check_status: a customer fee does not change the stored amounts, and metadata stays null", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("gopay");
  await payments.sandbox.control(`transactions/${transaction_id}/pay`, { fee: 5_000 });
  const { payment, gateway_response } = await (await payments.get(`/payments/${id}/check_status/`))
    .json();
  assert.equal(gateway_response.gross_amount, "49000.00", "with the customer's fee");
  assertMembers(payment, {
    transaction_status: "settlement",
    gross_amount: "44000.00",
    captured_amount: "44000.00",
    net_amount: "44000.00",
    metadata: null,
  });
});

Deno.test("charge: generates the order id from the payment's id", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, order_id, transaction_id } = await payments.charge("bca");
  assert.equal(order_id, `${id}-p`);
  assert.equal((await payments.sandbox.status(order_id)).transaction_id, transaction_id);
});

Deno.test("charge: sends the exact amount to the gateway", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const gross_amount of [1, 98_901, AMOUNT, 9_999_999_999]) {
    const { id, transaction_id, ...payment } = await payments.charge("gopay", { gross_amount });
    assert.equal(payment.gross_amount, `${gross_amount}.00`);
    const transaction = await payments.sandbox.status(transaction_id!);
    assert.equal(transaction.gross_amount, `${gross_amount}.00`);
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    assert.equal((await payments.refresh(id)).captured_amount, `${gross_amount}.00`);
  }
});

/** Converts the gateway's local time (Western Indonesia, UTC+7). */
function toUtc(localTime: string): string {
  return new Date(`${localTime.replace(" ", "T")}+07:00`).toISOString();
}

/** Fails unless every link opens and the QR code is an image. */
async function assertLinksOpen({ redirect_url, deeplink_url, qr_url }: Payment): Promise<void> {
  for (const link of [redirect_url, deeplink_url, qr_url].filter((each) => each !== null)) {
    const page = await fetch(link);
    await page.body?.cancel();
    assert.equal(page.status, 200, link);
    if (link === qr_url) assert.equal(page.headers.get("content-type"), "image/png");
  }
}

async function eventData({ app }: TestPayments, id: string): Promise<Payment[]> {
  const rows = await app.database.query((sql) =>
    sql`select data from gateway.events where resource_id = ${id} order by sequence`
  );
  assert.ok(rows.length > 0);
  return rows.map(({ data }) => data);
}
