/** A random history of one payment, determined by a seed. */

import { createRandom, seededState } from "../../../sandbox/engine/random.ts";
import { ACCEPTED_CARD, AMOUNT, CHALLENGED_CARD, type Json } from "../gateway/sandbox.ts";
import type { ChargeKind } from "../payments/payments.ts";
import { type Mutation, MUTATIONS } from "./mutations.ts";

/** The two instances. Calls of the second one to the gateway can be lost. */
export type Instance = "a" | "b";

/** `lost`: the response of the gateway is lost; `unsent`: the request is. */
export type Fault = "lost" | "unsent";

export type Step =
  /** An act of the customer or the bank, or the passing of time. */
  | { do: "happen"; what: string; body: Json }
  /** An action outside the service, such as on the gateway's dashboard. */
  | { do: "elsewhere"; what: "cancel" | "approve" | "deny" | "capture" | "refund"; amount?: number }
  | { do: "call"; at: Instance; what: Call; body?: Json; key?: string; fault?: Fault }
  | { do: "review"; at: Instance; what: "approve" | "deny" }
  | { do: "task"; at: Instance }
  /** Delivers a notification sent so far: `which` is from 0, the first, to 1, the latest. */
  | { do: "deliver"; at: Instance; which: number; mutation?: Mutation }
  | { do: "at once"; steps: Step[] }
  /** The gateway's response to the second instance arrives after the steps in `meanwhile`. */
  | { do: "overtaken"; step: Step; meanwhile: Step[] };

export type Call = "cancel" | "expire" | "capture" | "refund" | "check_status";

export interface Plan {
  seed: number;
  kind: Kind;
  charge: { at: Instance; how: "well" | "overtaken" | Fault; meanwhile: Step[] };
  steps: Step[];
  /** The final check at the gateway. */
  sync: { at: Instance; by: "check_status" | "task" };
  /** Whether all notifications arrive again afterwards, in this order; they must change nothing. */
  lateOrder: number[] | null;
}

interface Life {
  charge: ChargeKind;
  card?: string;
  more?: Json;
  happenings: string[];
  elsewhere: ("cancel" | "approve" | "deny" | "capture" | "refund")[];
  calls: Call[];
}

const TRANSFER: Omit<Life, "charge"> = {
  happenings: ["pay", "pay", "pay", "expire", "reverse"],
  elsewhere: ["cancel"],
  calls: ["cancel", "expire", "check_status", "refund"],
};

const WALLET: Omit<Life, "charge"> = {
  happenings: ["pay", "pay", "pay", "pay", "deny", "expire", "confirm_refund"],
  elsewhere: ["refund", "refund", "cancel"],
  calls: ["refund", "refund", "refund", "refund", "cancel", "expire", "check_status"],
};

const CARD: Omit<Life, "charge"> = {
  happenings: ["settle", "settle", "settle", "chargeback", "confirm_refund"],
  elsewhere: ["refund", "cancel"],
  calls: ["refund", "refund", "refund", "cancel", "check_status"],
};

const REVIEWED: Omit<Life, "charge"> = {
  ...CARD,
  card: CHALLENGED_CARD,
  elsewhere: ["approve", "approve", "deny", "refund"],
};

const BY_3DS = ["three_ds", "three_ds", "three_ds", "fail", "expire"];

const HELD: Omit<Life, "charge"> = {
  ...CARD,
  elsewhere: ["capture", "refund", "cancel"],
  calls: ["capture", "capture", "capture", ...CARD.calls],
};

export const LIVES = {
  card: { ...CARD, charge: "card" },
  card_3ds: {
    ...CARD,
    charge: "card_3ds",
    happenings: [...BY_3DS, ...CARD.happenings],
    calls: [...CARD.calls, "expire"],
  },
  card_challenge: { ...REVIEWED, charge: "card" },
  card_3ds_challenge: {
    ...REVIEWED,
    charge: "card_3ds",
    happenings: [...BY_3DS, ...CARD.happenings],
  },
  card_denied: { ...CARD, charge: "card", card: "4911111111111113" },
  card_auth: { ...HELD, charge: "card_auth" },
  card_auth_3ds: {
    ...HELD,
    charge: "card_auth",
    more: { authentication: true },
    happenings: [...BY_3DS, ...CARD.happenings],
  },
  card_auth_challenge: {
    ...HELD,
    charge: "card_auth",
    card: CHALLENGED_CARD,
    elsewhere: ["approve", "deny", "capture"],
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
} satisfies Record<string, Life>;

export type Kind = keyof typeof LIVES;
const KINDS = Object.keys(LIVES) as Kind[];

/** The same seed gives the same plan. */
export function planOf(seed: number): Plan {
  const random = createRandom(seededState(seed));
  const below = (limit: number) => random.below(limit);
  const oneOf = <T>(choices: readonly T[]): T => choices[below(choices.length)]!;
  const chance = (percent: number) => below(100) < percent;
  const instance = (): Instance => chance(50) ? "a" : "b";

  const kind = oneOf(KINDS);
  const life: Life = LIVES[kind];
  // Half of the histories have no forgeries, so that their checks can be stricter.
  const hasForgeries = chance(50);
  const charge = someCharge(instance());
  // The gateway does not find these orders by their id, so only notifications report them.
  const isUnfindable = kind === "dana" && charge.how === "lost";
  return {
    seed,
    kind,
    charge,
    steps: Array.from({ length: 3 + below(8) }, someStep),
    sync: { at: instance(), by: oneOf(["check_status", "task"]) },
    lateOrder: isUnfindable || chance(25) ? Array.from({ length: 12 }, () => below(1_000)) : null,
  };

  function someCharge(at: Instance): Plan["charge"] {
    const number = below(100);
    if (at === "a" || number < 50) return { at, how: "well", meanwhile: [] };
    if (number < 80) return { at, how: "overtaken", meanwhile: beforeItsAnswer() };
    return { at, how: number < 96 ? "lost" : "unsent", meanwhile: [] };
  }

  /** The caller has no response yet, but the other instance can change the payment. */
  function beforeItsAnswer(): Step[] {
    return Array.from({ length: 1 + below(4) }, () => chance(40) ? happening() : delivery("a"));
  }

  function someStep(): Step {
    const number = below(100);
    if (number < 12) return { do: "at once", steps: Array.from({ length: 2 + below(3) }, step) };
    return number < 27 ? overtaken() : step();
  }

  function overtaken(): Step {
    const check: Step = { do: "call", at: "b", what: "check_status" };
    const slow = oneOf<Step>([check, { do: "task", at: "b" }, delivery("b"), call("b")]);
    const meanwhile = Array.from(
      { length: 1 + below(3) },
      () => oneOf([happening, elsewhere, () => call("a"), () => delivery("a")])(),
    );
    return { do: "overtaken", step: slow, meanwhile };
  }

  function step(): Step {
    const at = below(100);
    if (at < 35) return happening();
    if (at < 40) return elsewhere();
    if (at < 62) return call();
    if (at < 66) return { do: "task", at: instance() };
    if (at < 69 && life.card === CHALLENGED_CARD) {
      return { do: "review", at: instance(), what: oneOf(["approve", "deny"]) };
    }
    return delivery();
  }

  function happening(): Step {
    const what = oneOf(life.happenings);
    const isPart = what === "chargeback" && chance(50);
    const hasFee = what === "pay" && chance(10);
    const body = { ...isPart && { amount: 1 + below(AMOUNT) }, ...hasFee && { fee: 2_500 } };
    return { do: "happen", what, body };
  }

  function elsewhere(): Step {
    const what = oneOf(life.elsewhere);
    const hasAmount = what === "refund" || what === "capture";
    return { do: "elsewhere", what, ...hasAmount && { amount: amount() } };
  }

  function call(at = instance()): Step {
    const what = oneOf(life.calls);
    const hasAmount = (what === "refund" || what === "capture") && chance(70);
    const direct = what === "refund" && chance(20);
    return {
      do: "call",
      at,
      what,
      ...hasAmount || direct ? { body: { ...hasAmount && { amount: amount() }, direct } } : {},
      ...what !== "check_status" && chance(20) && { key: oneOf(["k1", "k2"]) },
      ...what !== "check_status" && at === "b" && chance(20) &&
        { fault: oneOf<Fault>(["lost", "lost", "unsent"]) },
    };
  }

  /** Often the full amount, or more than half of it, so that two exceed it. */
  function amount(): number {
    return oneOf([1, 4_000, AMOUNT / 2, AMOUNT / 2 + 1, AMOUNT, 1 + below(AMOUNT)]);
  }

  function delivery(at = instance()): Step {
    const mutation = hasForgeries && chance(60) ? oneOf(MUTATIONS) : undefined;
    // Mostly the latest one, as in reality.
    const which = chance(40) ? 1 : below(1_001) / 1_000;
    return { do: "deliver", at, which, ...mutation && { mutation } };
  }
}

export function cardOf(kind: Kind): string {
  const life: Life = LIVES[kind];
  return life.card ?? ACCEPTED_CARD;
}

export function moreOf(kind: Kind): Json {
  const life: Life = LIVES[kind];
  return life.more ?? {};
}

/** A description for the message of a failed test. */
export function describePlan({ kind, charge, steps, sync, lateOrder }: Plan): string {
  return [
    `charge ${kind} at ${charge.at}: ${charge.how} ${
      charge.meanwhile.map(describeStep).join(" | ")
    }`,
    ...steps.map(describeStep),
    `sync at ${sync.at} by ${sync.by}`,
    ...lateOrder ? ["all webhooks once more, in another order"] : [],
  ].map((line, index) => `  ${index + 1}. ${line}`).join("\n");
}

function describeStep(step: Step): string {
  if (step.do === "at once") return `at once: ${step.steps.map(describeStep).join(" | ")}`;
  if (step.do === "overtaken") {
    return `${describeStep(step.step)}, overtaken by ${
      step.meanwhile.map(describeStep).join(" | ")
    }`;
  }
  const { do: what, ...rest } = step;
  const { mutation, ...plain } = rest as { mutation?: Mutation };
  const particulars = Object.entries({ ...plain, ...mutation && { mutation: mutation.name } });
  return `${what} ${
    particulars.map(([name, value]) => `${name}=${describeValue(value)}`).join(" ")
  }`;
}

function describeValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** All steps of a plan, without nesting. */
export function stepsOf({ charge, steps }: Plan): Step[] {
  return [...charge.meanwhile, ...steps].flatMap(partsOf);
}

export function partsOf(step: Step): Step[] {
  if (step.do === "at once") return step.steps;
  return step.do === "overtaken" ? [step.step, ...step.meanwhile] : [step];
}
