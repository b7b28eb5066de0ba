import assert from "node:assert/strict";
import { fc } from "../support/fast_check.ts";
import { shareOf } from "../support/share.ts";
import {
  type Hook,
  type Json,
  type Kind,
  KINDS,
  linkedAccount,
  openSandbox,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";

type MethodFilter = (method: string) => boolean;

const any: MethodFilter = () => true;
const oneOf = (...methods: string[]): MethodFilter => (method) => methods.includes(method);
const card = oneOf("credit_card");
const notCard: MethodFilter = (method) => method !== "credit_card";
const isRefundable = oneOf(
  ...["credit_card", "gopay", "qris", "shopeepay", "dana", "ovo", "akulaku", "kredivo"],
);

/**
 * The gateway's status table, written independently of the table in the sandbox. A challenged
 * capture is a separate state here.
 */
const TABLE: [from: string, to: string, methods: MethodFilter][] = [
  ["new", "pending", any],
  ["new", "capture", card],
  ["new", "challenge", card],
  ["new", "authorize", oneOf("credit_card", "gopay")],
  ["new", "deny", oneOf("credit_card", "gopay")],
  ["new", "settlement", oneOf("gopay")],
  ["pending", "settlement", notCard],
  ["pending", "capture", card],
  ["pending", "challenge", card],
  // A card after 3-D Secure, or a GoPay authorization after its PIN. The gateway's table does not
  // list the GoPay case.
  ["pending", "authorize", oneOf("credit_card", "gopay")],
  [
    "pending",
    "deny",
    oneOf("credit_card", "gopay", "shopeepay", "qris", "ovo", "akulaku", "kredivo"),
  ],
  ["pending", "expire", any],
  ["pending", "cancel", any],
  ["pending", "failure", card],
  ["challenge", "capture", card],
  ["challenge", "deny", card],
  ["challenge", "cancel", card],
  ["capture", "settlement", card],
  ["capture", "cancel", card],
  ["authorize", "capture", card],
  ["authorize", "challenge", card],
  ["authorize", "settlement", oneOf("gopay")],
  ["authorize", "cancel", oneOf("credit_card", "gopay")],
  ["authorize", "expire", oneOf("credit_card", "gopay")],
  ["authorize", "deny", card],
  ["settlement", "refund", isRefundable],
  ["settlement", "partial_refund", isRefundable],
  ["partial_refund", "partial_refund", isRefundable],
  ["partial_refund", "refund", isRefundable],
  ["settlement", "chargeback", card],
  ["settlement", "partial_chargeback", card],
  ["partial_chargeback", "chargeback", card],
  ["settlement", "deny", oneOf("permata", "echannel", "indomaret")],
  // Webhooks without a transition: the bank confirms a refund, or the merchant approves a
  // challenged authorization.
  ["refund", "refund", isRefundable],
  ["authorize", "authorize", card],
];

function isTransition(from: string, to: string, method: string): boolean {
  return TABLE.some(([start, end, applies]) => start === from && end === to && applies(method));
}

/** Charges of every payment method and of every behaviour of cards and wallets. */
const CHARGES: Record<string, { kind: Kind; card?: string; more?: Json; method: string }> = {
  ...Object.fromEntries(
    (Object.keys(KINDS) as Kind[]).map((kind) => [kind, { kind, method: methodOf(kind) }]),
  ),
  denied: cardOf("card", "4911111111111113"),
  denied_by_fds: cardOf("card_3ds", "4611111111111116"),
  slow_3ds: cardOf("card_3ds", "4024007176265022"),
  impossible_3ds: cardOf("card_3ds", "4716125059847899"),
  challenged_3ds: cardOf("card_3ds", "4511111111111117"),
  challenged_hold: cardOf("card_auth", "4511111111111117"),
  slow_hold: {
    ...cardOf("card_3ds", "4024007176265022"),
    more: { credit_card: { type: "authorize" } },
  },
  ovo_refuses: {
    kind: "ovo",
    method: "ovo",
    more: { ovo: { payer_phone_number: "+628271939753" } },
  },
  linked: { kind: "gopay", method: "gopay", more: { gopay: {} } },
  linked_pin: {
    kind: "gopay",
    method: "gopay",
    more: { gopay: {}, transaction_details: { gross_amount: 200_000 } },
  },
  linked_hold: { kind: "gopay", method: "gopay", more: { gopay: { pre_auth: true } } },
  linked_pin_hold: {
    kind: "gopay",
    method: "gopay",
    more: { gopay: { pre_auth: true }, transaction_details: { gross_amount: 200_000 } },
  },
};

function methodOf(kind: Kind): string {
  if (kind.startsWith("permata")) return "permata";
  return kind === "indomaret" ? kind : KINDS[kind].payment_type;
}

function cardOf(kind: Kind, card: string) {
  return { kind, card, method: "credit_card" };
}

type Step = (box: TestSandbox, id: string) => Promise<unknown>;

const call = (path: string, body?: Json): Step => (box, id) => box.post(`/v2/${id}/${path}`, body);
const simulate = (name: string, body?: Json): Step => (box, id) =>
  box.call("POST", `/_sandbox/transactions/${id}/${name}`, body);
const wait = (seconds: number): Step => (box) => box.advance(seconds);
const capture = (gross_amount?: number): Step => (box, transaction_id) =>
  box.post("/v2/capture", { transaction_id, gross_amount });

const STEPS: Record<string, Step> = {
  "cancel": call("cancel"),
  "expire": call("expire"),
  "approve": call("approve"),
  "deny": call("deny"),
  "capture": capture(),
  "capture a part": capture(1_000),
  "capture too much": capture(1_000_000),
  "refund": call("refund", {}),
  "refund a part": call("refund", { amount: 1_000 }),
  "refund with a key": call("refund", { amount: 500, refund_key: "key" }),
  "refund too much": call("refund", { amount: 43_500 }),
  "direct refund": call("refund/online/direct", {}),
  "direct refund of a part": call("refund/online/direct", { amount: 10_000 }),
  "the bank refuses": (box) => box.fault("*", "bank_refuses"),
  "pay": simulate("pay"),
  "pay with a fee": simulate("pay", { fee: 500 }),
  "pay again": simulate("pay_again"),
  "provider denies": simulate("deny"),
  "provider expires": simulate("expire"),
  "bank fails": simulate("fail"),
  "3-D Secure": simulate("three_ds"),
  "3-D Secure fails": simulate("three_ds", { result: "failure" }),
  "settle": simulate("settle"),
  "settle all captures": (box) => box.control("settle"),
  "chargeback": simulate("chargeback"),
  "chargeback of a part": simulate("chargeback", { amount: 1_000 }),
  "reverse": simulate("reverse"),
  "confirm the refund": simulate("confirm_refund"),
  "wait a second": wait(1),
  "wait a minute": wait(61),
  "wait 15 minutes": wait(901),
  "wait a day": wait(86_400),
  "wait two weeks": wait(14 * 86_400),
};

Deno.test("transaction status: random operations cause only transitions that are in the table", async () => {
  const seenTransitions = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(CHARGES)),
      fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 1, maxLength: 9 }),
      async (charge: string, steps: string[]) => {
        await using box = await openSandbox();
        const { method } = CHARGES[charge]!;
        const { transaction_id: id } = await createCharge(box, charge);
        assert.ok(id, charge);
        let seen = 0;
        let state = "new";
        for (const step of ["start", ...steps]) {
          await STEPS[step]?.(box, id);
          await box.waitForWebhooks();
          // Every change sends a webhook, including changes that the clock causes.
          for (const status of statesOf(box.hooks, id).slice(seen)) {
            assert.ok(
              isTransition(state, status, method),
              `${charge}, ${step}: ${state} → ${status}`,
            );
            seenTransitions.add(`${state} → ${status}`);
            state = status;
            seen++;
          }
          const status = await box.status(id);
          assert.equal(stateOf(status), state, `${charge}, ${step}`);
          assert.ok(Number(status.refund_amount ?? 0) <= Number(status.gross_amount), step);
        }
      },
    ),
    { numRuns: 250 },
  );
  // If every operation were rejected, the test would prove nothing.
  assert.ok(seenTransitions.size > shareOf(20), [...seenTransitions].join(", "));
});

async function createCharge(box: TestSandbox, charge: string): Promise<Json> {
  const { kind, card, more = {} } = CHARGES[charge]!;
  const credit_card = card && { token_id: await box.token(card), ...more.credit_card };
  const account = more.gopay && { ...await linkedAccount(box), ...more.gopay };
  return await box.charge(kind, {
    ...more,
    ...credit_card && { credit_card },
    ...account && { gopay: account },
  });
}

function statesOf(hooks: Hook[], id: string): string[] {
  return hooks.map(({ body }) => body).filter(({ transaction_id }) => transaction_id === id)
    .map(stateOf);
}

function stateOf({ transaction_status, fraud_status }: Json): string {
  const status = transaction_status.toLowerCase();
  return status === "capture" && fraud_status === "challenge" ? "challenge" : status;
}
