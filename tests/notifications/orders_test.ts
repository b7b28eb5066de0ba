import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import { notified } from "../support/gateway/notifications.ts";
import {
  type ChargeKind,
  openPayments,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { permutations } from "../support/permutations.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import { CHALLENGED_CARD, type Json } from "../support/gateway/sandbox.ts";

const databaseUrl = await createDatabase();

Deno.test("pending, capture, settlement, partial_refund and refund end alike, whatever order they come in", async () => {
  await using payments = await openPayments({ databaseUrl });
  const orders = permutations([0, 1, 2, 3, 4]);
  assert.equal(orders.length, 120);
  const ends = await Promise.all(orders.map(async (order) => {
    const { id, hooks } = await refundedCard(payments);
    for (const index of order) {
      assert.notEqual((await told(payments, hooks[index])).status, "failed");
    }
    return await endOf(payments, id);
  }));
  for (const [index, end] of ends.entries()) {
    assert.deepEqual(end, REFUNDED, orders[index]!.map((each) => CARD_LIFE[each]).join(", "));
  }
});

Deno.test("all of them at once, and each of them three times, end alike, too", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (let round = 0; round < 10; round++) {
    const { id, hooks } = await refundedCard(payments);
    await Promise.all([...hooks, ...hooks, ...hooks].map((hook) => told(payments, hook)));
    assert.deepEqual(await endOf(payments, id), REFUNDED);
  }
});

Deno.test("any of them may overtake the answer to the charge, which then takes nothing back", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { relay, sandbox } = payments;
  for (const index of CARD_LIFE.keys()) {
    const order_id = crypto.randomUUID();
    const held = relay.holdAnswer("POST /v2/charge");
    const charging = payments.charge("card_3ds", { order_id });
    await held.arrived;
    const hooks = await refundCard(payments, order_id);
    await told(payments, hooks[index]);
    held.release();
    const { id, transaction_status } = await charging;
    assert.equal(transaction_status, "refund", CARD_LIFE[index]);
    assert.deepEqual(await endOf(payments, id), {
      ...REFUNDED,
      // It was never heard of while it waited.
      events: ["payment_settled", "payment_refunded"],
    });
    assert.equal((await sandbox.status(order_id)).transaction_status, "refund");
  }
});

Deno.test("of the same second it is what is further on that counts, in either order and at once", async () => {
  await using payments = await openPayments({ databaseUrl });
  const second = {
    transaction_time: "2026-03-05 11:12:09",
    settlement_time: "2026-03-05 11:12:09",
  };
  const tell = (hook: Json) => told(payments, { ...hook, ...second });
  const ways = [
    async ([, capture, settlement]: Json[]) => {
      await tell(capture);
      await tell(settlement);
    },
    async ([, capture, settlement]: Json[]) => {
      await tell(settlement);
      await tell(capture);
    },
    ([, capture, settlement]: Json[]) => Promise.all([tell(capture), tell(settlement)]),
  ];
  for (const way of ways) {
    const { id, transaction_id, order_id } = await payments.charge("card_3ds");
    await happen(payments, transaction_id!, "three_ds", "settle");
    await way(await hooksOf(payments, order_id));
    const { status, events } = await endOf(payments, id);
    assert.equal(status, "settlement");
    assert.deepEqual(events, ["payment_received", "payment_settled"]);
  }
});

/** What else can become of a payment: each step with what the gateway tells of it. */
const LIVES: {
  name: string;
  kind: ChargeKind;
  steps: string[];
  end: string;
  fraud: string;
  /** In the order of their happening; in others some of them are passed over. */
  events: string[];
}[] = [
  {
    name: "a challenge that is accepted, and settled",
    kind: "card_3ds",
    steps: ["three_ds", "approve", "settle"],
    end: "settlement",
    fraud: "accept",
    events: ["payment_received", "payment_received", "payment_settled"],
  },
  {
    name: "a challenge that is denied",
    kind: "card_3ds",
    steps: ["three_ds", "deny"],
    end: "deny",
    fraud: "deny",
    events: ["payment_received", "payment_received", "payment_denied"],
  },
  {
    name: "a challenge that nobody answers",
    kind: "card_3ds",
    steps: ["three_ds", "settle"],
    end: "cancel",
    fraud: "challenge",
    events: ["payment_received", "payment_received", "payment_cancelled"],
  },
  {
    name: "a payment that its provider takes back",
    kind: "echannel",
    steps: ["pay", "reverse"],
    end: "deny",
    fraud: "accept",
    events: ["payment_received", "payment_settled", "payment_denied"],
  },
  {
    name: "a payment that nobody makes",
    kind: "gopay",
    steps: ["expire"],
    end: "expire",
    fraud: "accept",
    events: ["payment_received", "payment_expired"],
  },
];

for (const { name, kind, steps, end, fraud, events } of LIVES) {
  Deno.test(`${name}: told in time, each step is taken with its event`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const payment = await charged(payments, kind);
    await told(payments, (await hooksOf(payments, payment.order_id))[0]);
    for (const step of steps) {
      await happen(payments, payment.transaction_id!, step);
      await told(payments, (await hooksOf(payments, payment.order_id)).at(-1));
    }
    const inTime = await endOf(payments, payment.id);
    assert.deepEqual([inTime.status, inTime.fraud], [end, fraud]);
    assert.deepEqual(inTime.events, events);

    for (const late of await hooksOf(payments, payment.order_id)) await told(payments, late);
    assert.deepEqual(await endOf(payments, payment.id), inTime, "late ones change nothing");
  });

  Deno.test(`${name}: told afterwards, every order ends alike`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const places = [0, ...steps.map((_, index) => index + 1)];
    await Promise.all(
      permutations(places).map(async (order) => {
        const payment = await charged(payments, kind);
        await happen(payments, payment.transaction_id!, ...steps);
        const hooks = await hooksOf(payments, payment.order_id);
        for (const index of order) await told(payments, hooks[index]);
        const ended = await endOf(payments, payment.id);
        assert.deepEqual([ended.status, ended.fraud], [end, fraud], order.join());
        assertInOrder(ended.events, events);
        assert.equal(ended.events.at(-1), events.at(-1));
      }),
    );
  });
}

const CARD_LIFE = ["pending", "capture", "settlement", "partial_refund", "refund"];

const REFUNDED = {
  status: "refund",
  fraud: "accept",
  captured: "44000.00",
  refunded: "44000.00",
  net: "0.00",
  refunds: [["first", "14000.00", "succeeded"], ["second", "30000.00", "succeeded"]],
  events: ["payment_received", "payment_settled", "payment_refunded"],
};

/** A card's payment from its beginning to the last of its money, of which we have heard nothing yet. */
async function refundedCard(payments: TestPayments): Promise<{ id: string; hooks: Json[] }> {
  const { id, order_id } = await payments.charge("card_3ds");
  return { id, hooks: await refundCard(payments, order_id) };
}

async function refundCard(payments: TestPayments, orderId: string): Promise<Json[]> {
  const { sandbox } = payments;
  await happen(payments, orderId, "three_ds", "settle");
  await sandbox.post(`/v2/${orderId}/refund`, { refund_key: "first", amount: 14_000 });
  await sandbox.post(`/v2/${orderId}/refund`, { refund_key: "second", amount: 30_000 });
  const hooks = await hooksOf(payments, orderId);
  assert.deepEqual(hooks.map(({ transaction_status }) => transaction_status), CARD_LIFE);
  return hooks;
}

async function charged(payments: TestPayments, kind: ChargeKind): Promise<Payment> {
  const isCard = kind.startsWith("card");
  const token = isCard && { token_id: await payments.sandbox.token(CHALLENGED_CARD) };
  return await payments.charge(kind, { ...token });
}

/** Approved and denied is by the merchant, all else by others. */
async function happen({ sandbox }: TestPayments, id: string, ...steps: string[]): Promise<void> {
  for (const step of steps) {
    if (step === "approve" || step === "deny") {
      const { status_code } = await sandbox.post(`/v2/${id}/${step}`);
      assert.equal(status_code, "200");
    } else await sandbox.control(`transactions/${id}/${step}`);
  }
}

/** What the gateway told of an order so far, in its order. */
async function hooksOf({ sandbox }: TestPayments, orderId: string): Promise<Json[]> {
  await sandbox.settled();
  return sandbox.hooks.map(({ body }) => body).filter(({ order_id }) => order_id === orderId);
}

async function told(payments: TestPayments, hook: Json) {
  assert.ok(hook, "the gateway told it");
  return await notified(payments, hook);
}

/** How a payment ended, without what is each payment's own. */
async function endOf(payments: TestPayments, id: string): Promise<typeof REFUNDED> {
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

/** Each of them once, and none before one that it followed. */
function assertInOrder(events: string[], all: string[]): void {
  let at = 0;
  for (const name of events) {
    at = all.indexOf(name, at) + 1;
    assert.ok(at > 0, `${events.join(", ")} out of ${all.join(", ")}`);
  }
}
