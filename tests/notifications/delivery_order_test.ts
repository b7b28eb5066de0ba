import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import { notifyAndRead } from "../support/gateway/notifications.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import { CHALLENGED_CARD, type Json } from "../support/gateway/sandbox.ts";
import {
  type ChargeKind,
  openPayments,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { permutations } from "../support/permutations.ts";
import { someOf } from "../support/share.ts";

const databaseUrl = await createDatabase();

Deno.test("notifications of a refunded card payment: lead to the same final state in all 120 orders", async () => {
  await using payments = await openPayments({ databaseUrl });
  const allOrders = permutations([0, 1, 2, 3, 4]);
  assert.equal(allOrders.length, 120);
  const orders = someOf(allOrders);
  const finalStates = await Promise.all(orders.map(async (order) => {
    const { id, hooks } = await createRefundedCard(payments);
    for (const index of order) {
      assert.notEqual((await deliver(payments, hooks[index])).status, "failed");
    }
    return await finalState(payments, id);
  }));
  for (const [index, state] of finalStates.entries()) {
    assert.deepEqual(state, REFUNDED, orders[index]!.map((each) => CARD_STATUSES[each]).join(", "));
  }
});

Deno.test("notifications of a refunded card payment: lead to the same final state if each is sent three times concurrently", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (let round = 0; round < 10; round++) {
    const { id, hooks } = await createRefundedCard(payments);
    await Promise.all([...hooks, ...hooks, ...hooks].map((hook) => deliver(payments, hook)));
    assert.deepEqual(await finalState(payments, id), REFUNDED);
  }
});

Deno.test("notifications: if one arrives before the charge's response, the payment gets the gateway's state", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { relay, sandbox } = payments;
  for (const index of CARD_STATUSES.keys()) {
    const order_id = crypto.randomUUID();
    const held = relay.holdAnswer("POST /v2/charge");
    const charging = payments.charge("card_3ds", { order_id });
    await held.arrived;
    const hooks = await refundCard(payments, order_id);
    await deliver(payments, hooks[index]);
    held.release();
    const { id, transaction_status } = await charging;
    assert.equal(transaction_status, "refund", CARD_STATUSES[index]);
    assert.deepEqual(await finalState(payments, id), {
      ...REFUNDED,
      // There is no payment_received: the pending state was never applied.
      events: ["payment_settled", "payment_refunded"],
    });
    assert.equal((await sandbox.status(order_id)).transaction_status, "refund");
  }
});

Deno.test("notifications: of two from the same second the more advanced state wins, in either order and concurrently", async () => {
  await using payments = await openPayments({ databaseUrl });
  const sameSecond = {
    transaction_time: "2026-03-05 11:12:09",
    settlement_time: "2026-03-05 11:12:09",
  };
  const deliverInSameSecond = (hook: Json) => deliver(payments, { ...hook, ...sameSecond });
  const orders = [
    async ([, capture, settlement]: Json[]) => {
      await deliverInSameSecond(capture);
      await deliverInSameSecond(settlement);
    },
    async ([, capture, settlement]: Json[]) => {
      await deliverInSameSecond(settlement);
      await deliverInSameSecond(capture);
    },
    ([, capture, settlement]: Json[]) =>
      Promise.all([deliverInSameSecond(capture), deliverInSameSecond(settlement)]),
  ];
  for (const send of orders) {
    const { id, transaction_id, order_id } = await payments.charge("card_3ds");
    await runSteps(payments, transaction_id!, "three_ds", "settle");
    await send(await notificationsOf(payments, order_id));
    const { status, events } = await finalState(payments, id);
    assert.equal(status, "settlement");
    assert.deepEqual(events, ["payment_received", "payment_settled"]);
  }
});

/** Other outcomes of a payment, with the steps that lead there. */
const OUTCOMES: {
  name: string;
  kind: ChargeKind;
  steps: string[];
  end: string;
  fraud: string;
  /**
   * The events if a notification is delivered after each step. If all notifications are delivered
   * after the last step, some of these events are missing.
   */
  events: string[];
}[] = [
  {
    name: "an accepted and settled challenge",
    kind: "card_3ds",
    steps: ["three_ds", "approve", "settle"],
    end: "settlement",
    fraud: "accept",
    events: ["payment_received", "payment_received", "payment_settled"],
  },
  {
    name: "a denied challenge",
    kind: "card_3ds",
    steps: ["three_ds", "deny"],
    end: "cancel",
    fraud: "deny",
    events: ["payment_received", "payment_received", "payment_cancelled"],
  },
  {
    name: "a challenge without a decision",
    kind: "card_3ds",
    steps: ["three_ds", "settle"],
    end: "cancel",
    fraud: "challenge",
    events: ["payment_received", "payment_received", "payment_cancelled"],
  },
  {
    name: "a payment reversed by its provider",
    kind: "echannel",
    steps: ["pay", "reverse"],
    end: "deny",
    fraud: "accept",
    events: ["payment_received", "payment_settled", "payment_denied"],
  },
  {
    name: "an unpaid payment",
    kind: "gopay",
    steps: ["expire"],
    end: "expire",
    fraud: "accept",
    events: ["payment_received", "payment_expired"],
  },
];

for (const { name, kind, steps, end, fraud, events } of OUTCOMES) {
  Deno.test(`notifications of ${name}: if delivered after each step, each applies its state and event`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const payment = await chargeKind(payments, kind);
    await deliver(payments, (await notificationsOf(payments, payment.order_id))[0]);
    for (const step of steps) {
      await runSteps(payments, payment.transaction_id!, step);
      await deliver(payments, (await notificationsOf(payments, payment.order_id)).at(-1));
    }
    const stateInTime = await finalState(payments, payment.id);
    assert.deepEqual([stateInTime.status, stateInTime.fraud], [end, fraud]);
    assert.deepEqual(stateInTime.events, events);

    for (const repeated of await notificationsOf(payments, payment.order_id)) {
      await deliver(payments, repeated);
    }
    assert.deepEqual(await finalState(payments, payment.id), stateInTime, "repeats change nothing");
  });

  Deno.test(`notifications of ${name}: if delivered after the last step, lead to the same final state in every order`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const positions = [0, ...steps.map((_, index) => index + 1)];
    await Promise.all(
      permutations(positions).map(async (order) => {
        const payment = await chargeKind(payments, kind);
        await runSteps(payments, payment.transaction_id!, ...steps);
        const hooks = await notificationsOf(payments, payment.order_id);
        for (const index of order) await deliver(payments, hooks[index]);
        const endState = await finalState(payments, payment.id);
        assert.deepEqual([endState.status, endState.fraud], [end, fraud], order.join());
        assertInOrder(endState.events, events);
        assert.equal(endState.events.at(-1), events.at(-1));
      }),
    );
  });
}

const CARD_STATUSES = ["pending", "capture", "settlement", "partial_refund", "refund"];

const REFUNDED = {
  status: "refund",
  fraud: "accept",
  captured: "44000.00",
  refunded: "44000.00",
  net: "0.00",
  refunds: [["first", "14000.00", "succeeded"], ["second", "30000.00", "succeeded"]],
  events: ["payment_received", "payment_settled", "payment_refunded"],
};

/**
 * A card payment that was fully refunded at the gateway; no notification has been delivered yet.
 */
async function createRefundedCard(payments: TestPayments): Promise<{ id: string; hooks: Json[] }> {
  const { id, order_id } = await payments.charge("card_3ds");
  return { id, hooks: await refundCard(payments, order_id) };
}

async function refundCard(payments: TestPayments, orderId: string): Promise<Json[]> {
  const { sandbox } = payments;
  await runSteps(payments, orderId, "three_ds", "settle");
  await sandbox.post(`/v2/${orderId}/refund`, { refund_key: "first", amount: 14_000 });
  await sandbox.post(`/v2/${orderId}/refund`, { refund_key: "second", amount: 30_000 });
  const sent = await notificationsOf(payments, orderId);
  // After five seconds the bank confirms a refund, and the gateway repeats its status.
  const hooks = [...Map.groupBy(sent, ({ transaction_status }) => transaction_status).values()]
    .map(([first]) => first);
  assert.deepEqual(hooks.map(({ transaction_status }) => transaction_status), CARD_STATUSES);
  return hooks;
}

async function chargeKind(payments: TestPayments, kind: ChargeKind): Promise<Payment> {
  const isCard = kind.startsWith("card");
  const token = isCard && { token_id: await payments.sandbox.token(CHALLENGED_CARD) };
  return await payments.charge(kind, { ...token });
}

/** `approve` and `deny` are API calls of the merchant; other steps are controls of the sandbox. */
async function runSteps({ sandbox }: TestPayments, id: string, ...steps: string[]): Promise<void> {
  for (const step of steps) {
    if (step === "approve" || step === "deny") {
      const { status_code } = await sandbox.post(`/v2/${id}/${step}`);
      assert.equal(status_code, "200");
    } else await sandbox.control(`transactions/${id}/${step}`);
  }
}

/** The notifications of an order so far, in the order they were sent. */
async function notificationsOf({ sandbox }: TestPayments, orderId: string): Promise<Json[]> {
  await sandbox.waitForWebhooks();
  return sandbox.hooks.map(({ body }) => body).filter(({ order_id }) => order_id === orderId);
}

async function deliver(payments: TestPayments, hook: Json) {
  assert.ok(hook, "the gateway sent the notification");
  return await notifyAndRead(payments, hook);
}

/** The final state of a payment, without values that differ between payments. */
async function finalState(payments: TestPayments, id: string): Promise<typeof REFUNDED> {
  const payment = await payments.read(id);
  return {
    status: payment.transaction_status,
    fraud: payment.fraud_status!,
    captured: payment.captured_amount!,
    refunded: payment.refund_amount,
    net: payment.net_amount,
    refunds: payment.refunds.map(({ refund_key, amount, status }) => [refund_key, amount, status])
      .sort(),
    events: await payments.events(id),
  };
}

/** Fails unless the events are in the order of `all`; some of `all` may be missing. */
function assertInOrder(events: string[], all: string[]): void {
  let at = 0;
  for (const name of events) {
    at = all.indexOf(name, at) + 1;
    assert.ok(at > 0, `${events.join(", ")} out of ${all.join(", ")}`);
  }
}
