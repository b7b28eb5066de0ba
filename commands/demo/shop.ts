/** What happens in the demo's shop: orders, refunds, invoices, subscriptions, reconciliation. */

import { type Addresses, type Calls, createCalls, type Json } from "./calls.ts";
import {
  COMPANIES,
  createCustomers,
  type Customer,
  type DemoMethod,
  type Dice,
  fillCart,
  pickMethod,
  REFUND_REASONS,
  totalOf,
} from "./customers.ts";

export type Work = () => Promise<void>;

/** Plans something for a later time. */
type Later = (at: number, run: Work) => void;

/**
 * Random numbers are drawn when something is planned, not when it runs. So each demo is the same,
 * even if responses arrive in another order.
 */
export interface Shop {
  /** Moves the clock of the sandbox forward, which is also the service's. */
  moveClock(to: number): Promise<void>;
  /** What was planned for this time or earlier; each is returned once. */
  takeDue(at: number): Work[];
  planOrder(at: number): Work;
  /** An order whose customer has a virtual account number, and has not paid yet. */
  planOpenOrder(): Work;
  planInvoice(at: number): Work;
  planSubscription(at: number): Work;
  /** Uploads the gateway's settlement report of the last month. */
  reconcileMonthBefore(at: number): Promise<void>;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Test cards of the gateway (docs/sandbox.md). */
const CARDS = {
  good: ["4811111111111114", "5211111111111117"],
  denied: ["4911111111111113", "4472429869996670"],
  challenged: ["4511111111111117"],
};

const REFUNDABLE = ["qris", "gopay", "shopeepay", "credit_card"];

/** The reports of the last months have differences that finance has to explain. */
const MONTHS_WITH_DIFFERENCES = 3;

/** `now`: the end of the demo. */
export function createShop(addresses: Addresses, dice: Dice, now: number): Shop {
  const api = createCalls(addresses);
  const customers = createCustomers(dice, 160);
  let planned: { at: number; run: Work }[] = [];
  const later: Later = (at, run) => void planned.push({ at, run });
  let number = 1000;
  let reports = 0;

  function createCharge(cart: ReturnType<typeof fillCart>, method: DemoMethod) {
    return {
      ...method,
      ...isSlow(method) && { custom_expiry: { expiry_duration: 2, unit: "day" } },
      order_id: `KOPI-${number++}`,
      gross_amount: totalOf(cart),
      item_details: cart,
      customer_details: dice.pick(customers),
    };
  }

  return {
    moveClock: async (to) => void await api.sandbox("clock", { to: new Date(to).toISOString() }),
    takeDue(at) {
      const due = planned.filter((each) => each.at <= at);
      planned = planned.filter((each) => each.at > at);
      return due.map(({ run }) => run);
    },
    planOrder(at) {
      const cart = fillCart(dice);
      const method = pickMethod(dice);
      const charge = createCharge(cart, method);
      const fate = planFate(dice, method, at, number % REFUND_EVERY === 0);
      return () => runOrder(api, charge, fate, later);
    },
    planOpenOrder() {
      const charge = createCharge(fillCart(dice), { payment_type: "bank_transfer", bank: "bca" });
      return async () => void await api.shop("POST", "/charge/", charge);
    },
    planInvoice: (at) => planInvoice(api, dice, dice.pick(customers), at, later),
    planSubscription: (at) => planSubscription(api, dice, dice.pick(customers), at, later),
    async reconcileMonthBefore(at) {
      const isRecent = now - at < MONTHS_WITH_DIFFERENCES * 31 * DAY;
      reports++;
      const lines = await readMonth(api, at);
      if (lines.length < 2) return;
      await api.upload((isRecent ? withDifferences(lines, reports) : lines).join("\r\n") + "\r\n");
    },
  };
}

function planInvoice(api: Calls, dice: Dice, customer: Customer, at: number, later: Later): Work {
  const invoice = createInvoiceInput(dice, at, customer);
  const endsAt = at + dice.between(1, 12) * DAY;
  const fate = dice.chance(0.78) ? "paid" : dice.chance(0.4) ? "void" : "open";
  return async () => {
    const { id, gateway_invoice_id } = await api.shop("POST", "/invoices/", invoice);
    if (fate === "open") return;
    later(endsAt, async () => {
      if (fate === "paid") await api.sandbox(`invoices/${gateway_invoice_id}/pay`);
      else await api.staff("POST", `/invoices/${id}/void/`, { reason: "Pesanan dibatalkan" });
    });
  };
}

function planSubscription(
  api: Calls,
  dice: Dice,
  customer_details: Customer,
  at: number,
  later: Later,
): Work {
  const amount = dice.pick([79_000, 119_000, 199_000]);
  const endsAt = dice.chance(0.4) ? at + dice.between(40, 150) * DAY : null;
  const action = dice.pick(["cancel", "disable"]);
  return async () => {
    const { id } = await api.shop("POST", "/subscriptions/", {
      name: "kopi-bulanan",
      amount,
      payment_type: "credit_card",
      token: await api.saveCard(CARDS.good[0]!),
      interval: 1,
      interval_unit: "month",
      customer_details,
    });
    if (endsAt === null) return;
    later(endsAt, async () => void await api.staff("POST", `/subscriptions/${id}/${action}/`));
  };
}

/** What happens to an order after its charge. */
interface Fate {
  outcome: "paid" | "denied" | "challenged" | "unpaid" | "cancelled";
  /** When the customer pays, at the earliest. */
  paysAt: number;
  refund: { at: number; share: number; reason: string } | null;
  chargeback: { at: number; share: number } | null;
}

/** Customers transfer, or go to the store, some hours after the order. */
function isSlow({ payment_type }: DemoMethod): boolean {
  return ["bank_transfer", "echannel", "cstore"].includes(payment_type);
}

/** At least so often an order is refunded, so that even a few weeks have refunds. */
const REFUND_EVERY = 15;

function planFate(dice: Dice, method: DemoMethod, at: number, isRefundDue: boolean): Fate {
  const { payment_type } = method;
  const isCard = payment_type === "credit_card";
  const roll = dice.next();
  const outcome = isCard
    ? roll < 0.88 ? "paid" : roll < 0.97 ? "denied" : "challenged"
    : roll < 0.8
    ? "paid"
    : roll < 0.95
    ? "unpaid"
    : "cancelled";
  const isRefunded = dice.chance(0.05) || isRefundDue;
  const canRefund = REFUNDABLE.includes(payment_type) && isRefunded;
  return {
    outcome,
    paysAt: isSlow(method) && dice.chance(0.6) ? at + dice.between(2, 20) * HOUR : at,
    refund: canRefund
      ? {
        at: at + dice.between(2, 9) * DAY,
        share: dice.chance(0.5) ? 1 : 0.5,
        reason: dice.pick(REFUND_REASONS),
      }
      : null,
    chargeback: isCard && dice.chance(0.04)
      ? { at: at + dice.between(20, 45) * DAY, share: dice.chance(0.3) ? 0.5 : 1 }
      : null,
  };
}

async function runOrder(
  api: Calls,
  charge: Json,
  fate: Fate,
  later: Later,
): Promise<void> {
  const isCard = charge.payment_type === "credit_card";
  const { outcome, paysAt, refund, chargeback } = fate;
  const kind = outcome === "denied" || outcome === "challenged" ? outcome : "good";
  const card = isCard && {
    token_id: await api.cardToken(CARDS[kind][charge.gross_amount % CARDS[kind].length]!),
    authentication: kind === "good",
  };
  const payment = await api.shop("POST", "/charge/", { ...charge, ...card });
  const path = `/payments/${payment.id}`;
  const transaction = `transactions/${payment.transaction_id}`;
  if (outcome === "paid") {
    later(paysAt, async () => void await api.sandbox(`${transaction}/pay`));
  }
  if (outcome === "cancelled") await api.shop("POST", `${path}/cancel/`);
  if (outcome === "challenged") {
    await api.staff("POST", `/reviews/${payment.id}/approve/`);
  }
  if (outcome !== "paid") return;
  if (refund) {
    const { share, reason } = refund;
    const amount = share === 1 ? undefined : Math.round(charge.gross_amount * share);
    later(
      refund.at,
      async () => void await api.staff("POST", `${path}/refund/`, { amount, reason }),
    );
  } else if (chargeback) {
    const { at, share } = chargeback;
    const amount = Math.round(charge.gross_amount * share);
    later(at, async () => void await api.sandbox(`${transaction}/chargeback`, { amount }));
  }
}

function createInvoiceInput(dice: Dice, at: number, { email, phone }: Customer): Json {
  const due = new Date(at + dice.between(7, 14) * DAY + 7 * HOUR);
  return {
    customer_name: dice.pick(COMPANIES),
    customer_email: email,
    customer_phone: phone.slice(1),
    due_date: due.toISOString().slice(0, 10),
    items: fillCart(dice).map(({ id, name, price, quantity }) => (
      { item_id: id, description: name, price, quantity: quantity * 5 }
    )),
  };
}

/** The lines of the settlement reports of all days of the last month, with one header. */
async function readMonth(api: Calls, at: number): Promise<string[]> {
  const today = new Date(at + 7 * HOUR);
  const [year, month] = [today.getUTCFullYear(), today.getUTCMonth()];
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const lines: string[] = [];
  for (let day = 1; day <= days; day++) {
    const date = new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10);
    const [header, ...rows] = (await api.settlementReport(date)).trimEnd().split("\r\n");
    if (lines.length === 0) lines.push(header!);
    lines.push(...rows);
  }
  return lines;
}

/** A report with a wrong amount, a missing line, and a line that the shop does not know. */
function withDifferences(lines: string[], seed: number): string[] {
  const settlements = lines.flatMap((line, index) => line.includes(",settlement,") ? [index] : []);
  const [wrong, missing, copied] = [3, 7, 11].map((step) =>
    settlements[(seed * step) % settlements.length]!
  );
  const cells = lines[wrong!]!.split(",");
  cells[5] = `${Number.parseInt(cells[5]!) + 1_000}.00`;
  const unknown = lines[copied!]!.split(",");
  unknown[2] = `TIKET-${seed}417`;
  unknown[3] = `00000000-0000-4000-8000-${String(seed).padStart(12, "0")}`;
  return [
    ...lines.map((line, index) => index === wrong ? cells.join(",") : line)
      .filter((_, index) => index !== missing),
    unknown.join(","),
  ];
}
