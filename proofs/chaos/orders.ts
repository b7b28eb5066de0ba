/** What the merchant and the customer do with an order, chosen at random. */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../sandbox/engine/random.ts";
import { ACCEPTED_CARD, type Json, type TestSandbox } from "../../tests/support/gateway/sandbox.ts";
import type { Act, Call, Order } from "./history.ts";
import type { Merchant } from "./merchant.ts";

export interface Shop {
  merchant: Merchant;
  sandbox: TestSandbox;
  random: Random;
  onOrder(order: Order): void;
  onAct(act: Act): void;
}

const DENIED_CARD = "4911111111111113";

const CARD = { payment_type: "credit_card", authentication: false };

const MINUTE_MS = 60_000;

const DAY_MS = 24 * 60 * MINUTE_MS;

interface OrderKind extends Pick<Order, "method" | "lifeMs"> {
  charge: Json;
  card?: string;
  /** What happens after the charge. */
  continueOrder(shop: Shop, order: Order, charge: Call): Promise<void>;
}

const GOPAY = {
  method: "paid_later",
  charge: { payment_type: "gopay" },
  lifeMs: 15 * MINUTE_MS,
} as const;

/** All kinds have the same chance. The sandbox expires payments after the same `lifeMs`. */
const ORDER_KINDS: OrderKind[] = [
  { ...GOPAY, continueOrder: payAndRefund },
  { ...GOPAY, charge: { payment_type: "qris" }, continueOrder: payAndRefund },
  {
    method: "paid_later",
    charge: { payment_type: "bank_transfer", bank: "bca" },
    lifeMs: DAY_MS,
    continueOrder: payOrCancel,
  },
  {
    method: "paid_later",
    charge: { payment_type: "cstore", store: "alfamart" },
    lifeMs: DAY_MS,
    continueOrder: payOrCancel,
  },
  { ...GOPAY, continueOrder: denyPayment },
  { method: "paid_at_once", charge: CARD, lifeMs: null, continueOrder: readOnly },
  {
    method: "held",
    charge: { ...CARD, authorize: true },
    lifeMs: null,
    continueOrder: captureOrCancel,
  },
  { method: "denied", charge: CARD, card: DENIED_CARD, lifeMs: null, continueOrder: readOnly },
];

/** The percentage of writing calls during which the merchant's process crashes. */
const CRASH_PERCENT = 3;

/** The percentage of writing calls that the merchant repeats although it knows the outcome. */
const REPEAT_PERCENT = 20;

/** The percentage of customers who pay before the merchant has an answer, which may be lost. */
const EARLY_PERCENT = 20;

/** The percentage of reads that make the service ask the gateway first. */
const CHECK_PERCENT = 30;

/** Places one order, and does everything with it. */
export async function placeOrder(shop: Shop, number: number): Promise<void> {
  const { merchant, sandbox, random } = shop;
  const kind = ORDER_KINDS[random.below(ORDER_KINDS.length)]!;
  const order: Order = {
    orderId: `chaos-${number}-${random.hex(8)}`,
    method: kind.method,
    lifeMs: kind.lifeMs,
    amount: 10_000 + random.below(90_000),
  };
  shop.onOrder(order);
  const card = kind.charge === CARD || kind.charge.authorize
    ? { token_id: await sandbox.token(kind.card ?? ACCEPTED_CARD) }
    : {};
  const { orderId, amount } = order;
  const body = { ...kind.charge, ...card, order_id: orderId, gross_amount: amount };
  const charging = merchant.call({
    orderId,
    name: "charge",
    path: "/charge/",
    body,
    ...randomBehavior(random),
  });
  const isEarly = kind.continueOrder === payAndRefund && random.below(100) < EARLY_PERCENT;
  const [charge] = await Promise.all([charging, isEarly && payEarly(shop, order, charging)]);
  if (charge.outcome === "done") await kind.continueOrder(shop, order, charge);
}

function randomBehavior(random: Random): { crashes: boolean; repeats: boolean } {
  return {
    crashes: random.below(100) < CRASH_PERCENT,
    repeats: random.below(100) < REPEAT_PERCENT,
  };
}

async function payEarly(shop: Shop, order: Order, charging: Promise<Call>): Promise<void> {
  let isAnswered = false;
  charging.then(() => isAnswered = true);
  while (!isAnswered && !await act(shop, order, "pay")) await delay(20);
}

/** Returns whether the gateway let it happen. */
async function act({ sandbox, onAct }: Shop, { orderId }: Order, name: Act["name"]) {
  const startedAt = performance.now();
  const { http } = await sandbox.call("POST", `/_sandbox/transactions/${orderId}/${name}`);
  if (http === 200) onAct({ orderId, name, startedAt });
  return http === 200;
}

function idOf({ answers }: Call): string {
  return answers.find(({ payment }) => payment)!.payment!.id;
}

async function read({ merchant, random }: Shop, { orderId }: Order, charge: Call): Promise<void> {
  const path = `/payments/${idOf(charge)}/`;
  // The service learns by a check what no notification has said.
  await (random.below(100) < CHECK_PERCENT
    ? merchant.call({ orderId, name: "check", path: `${path}check_status/` })
    : merchant.call({ orderId, name: "read", path }));
}

async function readOnly(shop: Shop, order: Order, charge: Call): Promise<void> {
  await read(shop, order, charge);
}

async function denyPayment(shop: Shop, order: Order, charge: Call): Promise<void> {
  await act(shop, order, "deny");
  await read(shop, order, charge);
}

/** The customer pays while the merchant cancels, or one of them does. */
async function payOrCancel(shop: Shop, order: Order, charge: Call): Promise<void> {
  const choice = shop.random.below(3);
  await Promise.all([
    choice !== 0 && act(shop, order, "pay"),
    choice !== 1 && send(shop, order, charge, "cancel"),
    read(shop, order, charge),
  ]);
  await read(shop, order, charge);
}

/** The merchant captures a part or all of a held amount, cancels it, or tries both at once. */
async function captureOrCancel(shop: Shop, order: Order, charge: Call): Promise<void> {
  const { random } = shop;
  const choice = random.below(4);
  const part = random.below(2) ? 1 + random.below(order.amount) : undefined;
  await Promise.all([
    choice !== 0 && send(shop, order, charge, "capture", part),
    choice < 2 && send(shop, order, charge, "cancel"),
    read(shop, order, charge),
  ]);
  await read(shop, order, charge);
}

/** Two refunds at the same time; together they can be more than what was paid. */
async function payAndRefund(shop: Shop, order: Order, charge: Call): Promise<void> {
  const { random } = shop;
  await act(shop, order, "pay");
  await read(shop, order, charge);
  if (random.below(4) === 0) return;
  const part = () => 1 + random.below(order.amount);
  const isWhole = random.below(3) === 0;
  await Promise.all([
    send(shop, order, charge, "refund", isWhole ? undefined : part()),
    random.below(2) && send(shop, order, charge, "refund", part()),
    read(shop, order, charge),
  ]);
  await read(shop, order, charge);
}

async function send(
  { merchant, random }: Shop,
  { orderId }: Order,
  charge: Call,
  name: "refund" | "capture" | "cancel",
  amount?: number,
): Promise<void> {
  await merchant.call({
    orderId,
    name,
    path: `/payments/${idOf(charge)}/${name}/`,
    body: amount === undefined ? {} : { amount },
    amount,
    ...randomBehavior(random),
  });
}
