/** Random plans: each is a sequence of steps for one payment, determined by a seed. */

import { createRandom, seededState } from "../../../sandbox/engine/random.ts";
import { ACCEPTED_CARD, AMOUNT, CHALLENGED_CARD, type Json } from "../gateway/sandbox.ts";
import type { ChargeKind } from "../payments/payments.ts";
import { type Mutation, MUTATIONS } from "./mutations.ts";

/** The two instances. Only calls of instance `b` to the gateway can be lost or delayed. */
export type Instance = "a" | "b";

/** The part of a gateway call that is lost. */
export type Fault = "response_lost" | "request_lost";

export type Step =
  /** An action of the customer or the bank, or an expiry. */
  | { do: "external"; action: string; body: Json }
  /** An action of the merchant on the gateway's dashboard. */
  | { do: "dashboard"; action: DashboardAction; amount?: number }
  /** A call of the service's API. */
  | { do: "call"; at: Instance; action: Call; body?: Json; key?: string; fault?: Fault }
  | { do: "review"; at: Instance; action: "approve" | "deny" }
  /** The task `check_payment_status`. */
  | { do: "task"; at: Instance }
  /** Delivers a notification sent so far: `position` is from 0 (the first) to 1 (the latest). */
  | { do: "deliver"; at: Instance; position: number; mutation?: Mutation }
  | { do: "concurrently"; steps: Step[] }
  /** The gateway's response to `step` arrives after the steps in `meanwhile`. */
  | { do: "delayed"; step: Step; meanwhile: Step[] };

type DashboardAction = "cancel" | "approve" | "deny" | "capture" | "refund";

export type Call = "cancel" | "expire" | "capture" | "refund" | "check_status";

export interface Plan {
  seed: number;
  kind: Kind;
  charge: { at: Instance; how: "answered" | "delayed" | Fault; meanwhile: Step[] };
  steps: Step[];
  /** The final check at the gateway. */
  sync: { at: Instance; by: "check_status" | "task" };
  /**
   * If set, all notifications are delivered again after `sync`, sorted by these keys. This changes
   * nothing, unless `sync` could not find the transaction (DANA).
   */
  redeliveryOrder: number[] | null;
}

/** How payments of one kind are charged, and which steps their plans can have. */
interface KindOptions {
  charge: ChargeKind;
  card?: string;
  /** Further fields of the charge request. */
  extraFields?: Json;
  /** An action that is listed several times is chosen more often. */
  externalActions: string[];
  dashboardActions: DashboardAction[];
  calls: Call[];
}

const TRANSFER: Omit<KindOptions, "charge"> = {
  externalActions: ["pay", "pay", "pay", "expire", "reverse"],
  dashboardActions: ["cancel"],
  calls: ["cancel", "expire", "check_status", "refund"],
};

const WALLET: Omit<KindOptions, "charge"> = {
  externalActions: ["pay", "pay", "pay", "pay", "deny", "expire", "confirm_refund"],
  dashboardActions: ["refund", "refund", "cancel"],
  calls: ["refund", "refund", "refund", "refund", "cancel", "expire", "check_status"],
};

const CARD: Omit<KindOptions, "charge"> = {
  externalActions: ["settle", "settle", "settle", "chargeback", "confirm_refund"],
  dashboardActions: ["refund", "cancel"],
  calls: ["refund", "refund", "refund", "cancel", "check_status"],
};

const CHALLENGED: Omit<KindOptions, "charge"> = {
  ...CARD,
  card: CHALLENGED_CARD,
  dashboardActions: ["approve", "approve", "deny", "refund"],
};

const THREE_DS_ACTIONS = ["three_ds", "three_ds", "three_ds", "fail", "expire"];

const AUTHORIZED: Omit<KindOptions, "charge"> = {
  ...CARD,
  dashboardActions: ["capture", "refund", "cancel"],
  calls: ["capture", "capture", "capture", ...CARD.calls],
};

export const KIND_OPTIONS = {
  card: { ...CARD, charge: "card" },
  card_3ds: {
    ...CARD,
    charge: "card_3ds",
    externalActions: [...THREE_DS_ACTIONS, ...CARD.externalActions],
    calls: [...CARD.calls, "expire"],
  },
  card_challenge: { ...CHALLENGED, charge: "card" },
  card_3ds_challenge: {
    ...CHALLENGED,
    charge: "card_3ds",
    externalActions: [...THREE_DS_ACTIONS, ...CARD.externalActions],
  },
  card_denied: { ...CARD, charge: "card", card: "4911111111111113" },
  card_auth: { ...AUTHORIZED, charge: "card_auth" },
  card_auth_3ds: {
    ...AUTHORIZED,
    charge: "card_auth",
    extraFields: { authentication: true },
    externalActions: [...THREE_DS_ACTIONS, ...CARD.externalActions],
  },
  card_auth_challenge: {
    ...AUTHORIZED,
    charge: "card_auth",
    card: CHALLENGED_CARD,
    dashboardActions: ["approve", "deny", "capture"],
  },
  bca: { ...TRANSFER, charge: "bca" },
  permata: { ...TRANSFER, charge: "permata" },
  echannel: { ...TRANSFER, charge: "echannel" },
  cstore: { ...TRANSFER, charge: "cstore" },
  gopay: { ...WALLET, charge: "gopay" },
  qris: { ...WALLET, charge: "qris" },
  shopeepay: { ...WALLET, charge: "shopeepay" },
  ovo: { ...WALLET, charge: "ovo" },
  dana: { ...WALLET, charge: "dana" },
  akulaku: { ...WALLET, charge: "akulaku" },
  kredivo: { ...WALLET, charge: "kredivo" },
} satisfies Record<string, KindOptions>;

export type Kind = keyof typeof KIND_OPTIONS;
const KINDS = Object.keys(KIND_OPTIONS) as Kind[];

/** The same seed gives the same plan. */
export function createPlan(seed: number): Plan {
  const random = createRandom(seededState(seed));
  const below = (limit: number) => random.below(limit);
  const oneOf = <T>(choices: readonly T[]): T => choices[below(choices.length)]!;
  const chance = (percent: number) => below(100) < percent;
  const instance = (): Instance => chance(50) ? "a" : "b";

  const kind = oneOf(KINDS);
  const options: KindOptions = KIND_OPTIONS[kind];
  // Half of the plans have no forgeries, so that their checks can be stricter.
  const hasForgeries = chance(50);
  const charge = randomCharge(instance());
  // The gateway does not find DANA charges by order id; only notifications report them.
  const isUnfindable = kind === "dana" && charge.how === "response_lost";
  return {
    seed,
    kind,
    charge,
    steps: Array.from({ length: 3 + below(8) }, randomStep),
    sync: { at: instance(), by: oneOf(["check_status", "task"]) },
    redeliveryOrder: isUnfindable || chance(25)
      ? Array.from({ length: 12 }, () => below(1_000))
      : null,
  };

  function randomCharge(at: Instance): Plan["charge"] {
    const number = below(100);
    if (at === "a" || number < 50) return { at, how: "answered", meanwhile: [] };
    if (number < 80) return { at, how: "delayed", meanwhile: stepsBeforeResponse() };
    return { at, how: number < 96 ? "response_lost" : "request_lost", meanwhile: [] };
  }

  /** Steps while the caller waits for the response: the other instance can change the payment. */
  function stepsBeforeResponse(): Step[] {
    return Array.from(
      { length: 1 + below(4) },
      () => chance(40) ? externalAction() : delivery("a"),
    );
  }

  function randomStep(): Step {
    const number = below(100);
    if (number < 12) {
      return { do: "concurrently", steps: Array.from({ length: 2 + below(3) }, singleStep) };
    }
    return number < 27 ? delayedStep() : singleStep();
  }

  function delayedStep(): Step {
    const check: Step = { do: "call", at: "b", action: "check_status" };
    const slow = oneOf<Step>([check, { do: "task", at: "b" }, delivery("b"), apiCall("b")]);
    const meanwhile = Array.from(
      { length: 1 + below(3) },
      () => oneOf([externalAction, dashboardAction, () => apiCall("a"), () => delivery("a")])(),
    );
    return { do: "delayed", step: slow, meanwhile };
  }

  function singleStep(): Step {
    const number = below(100);
    if (number < 35) return externalAction();
    if (number < 40) return dashboardAction();
    if (number < 62) return apiCall();
    if (number < 66) return { do: "task", at: instance() };
    if (number < 69 && options.card === CHALLENGED_CARD) {
      return { do: "review", at: instance(), action: oneOf(["approve", "deny"]) };
    }
    return delivery();
  }

  function externalAction(): Step {
    const action = oneOf(options.externalActions);
    const isPart = action === "chargeback" && chance(50);
    const hasFee = action === "pay" && chance(10);
    const body = { ...isPart && { amount: 1 + below(AMOUNT) }, ...hasFee && { fee: 2_500 } };
    return { do: "external", action, body };
  }

  function dashboardAction(): Step {
    const action = oneOf(options.dashboardActions);
    const hasAmount = action === "refund" || action === "capture";
    return { do: "dashboard", action, ...hasAmount && { amount: randomAmount() } };
  }

  function apiCall(at = instance()): Step {
    const action = oneOf(options.calls);
    const hasAmount = (action === "refund" || action === "capture") && chance(70);
    const direct = action === "refund" && chance(20);
    return {
      do: "call",
      at,
      action,
      ...hasAmount || direct
        ? { body: { ...hasAmount && { amount: randomAmount() }, direct } }
        : {},
      ...action !== "check_status" && chance(20) && { key: oneOf(["k1", "k2"]) },
      ...action !== "check_status" && at === "b" && chance(20) &&
        { fault: oneOf<Fault>(["response_lost", "response_lost", "request_lost"]) },
    };
  }

  /** Often the full amount, or more than half of it, so that two such amounts exceed it. */
  function randomAmount(): number {
    return oneOf([1, 4_000, AMOUNT / 2, AMOUNT / 2 + 1, AMOUNT, 1 + below(AMOUNT)]);
  }

  function delivery(at = instance()): Step {
    const mutation = hasForgeries && chance(60) ? oneOf(MUTATIONS) : undefined;
    // Often the latest, as in reality.
    const position = chance(40) ? 1 : below(1_001) / 1_000;
    return { do: "deliver", at, position, ...mutation && { mutation } };
  }
}

export function cardOf(kind: Kind): string {
  const options: KindOptions = KIND_OPTIONS[kind];
  return options.card ?? ACCEPTED_CARD;
}

export function extraFieldsOf(kind: Kind): Json {
  const options: KindOptions = KIND_OPTIONS[kind];
  return options.extraFields ?? {};
}

/** A description for the message of a failed test. */
export function describePlan({ kind, charge, steps, sync, redeliveryOrder }: Plan): string {
  return [
    `charge ${kind} at ${charge.at}: ${charge.how} ${
      charge.meanwhile.map(describeStep).join(" | ")
    }`,
    ...steps.map(describeStep),
    `sync at ${sync.at} by ${sync.by}`,
    ...redeliveryOrder ? ["all notifications once more, in another order"] : [],
  ].map((line, index) => `  ${index + 1}. ${line}`).join("\n");
}

function describeStep(step: Step): string {
  if (step.do === "concurrently") {
    return `concurrently: ${step.steps.map(describeStep).join(" | ")}`;
  }
  if (step.do === "delayed") {
    return `${describeStep(step.step)}, response delayed until after ${
      step.meanwhile.map(describeStep).join(" | ")
    }`;
  }
  const { do: kind, ...rest } = step;
  const { mutation, ...others } = rest as { mutation?: Mutation };
  const fields = Object.entries({ ...others, ...mutation && { mutation: mutation.name } });
  return `${kind} ${fields.map(([name, value]) => `${name}=${describeValue(value)}`).join(" ")}`;
}

function describeValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** All steps of a plan, without nesting. */
export function stepsOf({ charge, steps }: Plan): Step[] {
  return [...charge.meanwhile, ...steps].flatMap(partsOf);
}

export function partsOf(step: Step): Step[] {
  if (step.do === "concurrently") return step.steps;
  return step.do === "delayed" ? [step.step, ...step.meanwhile] : [step];
}
