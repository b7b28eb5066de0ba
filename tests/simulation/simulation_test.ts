import { createDatabase } from "../support/database/database.ts";
import { checkBystander, checkLived, readKept } from "../support/simulation/check.ts";
import { mutationOf } from "../support/simulation/mutations.ts";
import { type Plan, planOf, type Step, tellPlan } from "../support/simulation/plan.ts";
import { live } from "../support/simulation/run.ts";
import { openWorld } from "../support/simulation/world.ts";

/** A number of one's own runs that history alone, unless it is said how many are to follow it. */
const SEED = Deno.env.get("SIMULATION_SEED");
const FIRST = Number(SEED ?? 1);
const HISTORIES = Number(Deno.env.get("SIMULATION_HISTORIES") ?? (SEED ? 1 : 2_000));

/** So many happen at the same time. */
const AT_ONCE = 100;

const PAY: Step = { do: "happen", what: "pay", body: {} };

Deno.test(`${HISTORIES} made-up histories end as the gateway has them, with every change told once`, async () => {
  const databaseUrl = await createDatabase();
  for (let done = 0; done < HISTORIES; done += AT_ONCE) {
    const length = Math.min(AT_ONCE, HISTORIES - done);
    const plans = Array.from({ length }, (_, index) => planOf(FIRST + done + index));
    const failures = await liveAll(databaseUrl, plans);
    if (failures.length > 0) throw new Error(tellFailures(failures), { cause: failures[0]!.error });
  }
});

const LOST: Plan["charge"] = { at: "b", how: "lost", meanwhile: [] };

/** Histories that ended badly once, as short as they can be told. */
const ENDED_BADLY: Record<string, Pick<Plan, "kind" | "steps"> & Partial<Plan>> = {
  "refunds that somebody adds to a webhook are none": {
    kind: "gopay",
    steps: [PAY, deliver("refund_amount+refunds")],
  },
  "what somebody makes of the fraud check is mended by a look": {
    kind: "bca",
    steps: [{ do: "happen", what: "expire", body: {} }, deliver('fraud_status: "deny"')],
  },
  "a payment that waits and is said to be challenged goes on waiting": {
    kind: "bca",
    steps: [deliver('transaction_status+fraud_status: "capture"+"challenge"')],
  },
  "a card's payment that is said to be challenged expires as any other": {
    kind: "card_3ds",
    steps: [
      deliver('transaction_status+fraud_status: "capture"+"challenge"'),
      { do: "happen", what: "expire", body: {} },
    ],
  },
  "a capture that is said to be settled can still be cancelled": {
    kind: "card",
    steps: [
      deliver('transaction_status: "settlement"'),
      { do: "elsewhere", what: "cancel" },
    ],
  },
  "what is only held is not paid, whatever a webhook was made to say": {
    kind: "card_auth_3ds",
    steps: [
      { do: "happen", what: "three_ds", body: {} },
      deliver('transaction_status: "settlement"'),
    ],
  },
  "a charge without an answer takes no transaction that nobody vouches for": {
    kind: "card",
    charge: LOST,
    steps: [deliver('transaction_id: "8c0')],
  },
  "a charge that cannot be found by its order is known by its name when its webhook comes": {
    kind: "dana",
    charge: LOST,
    steps: [{ do: "happen", what: "pay", body: { fee: 2_500 } }, deliver()],
  },
  "a charge that was given up comes back by its webhooks, and as itself": {
    kind: "dana",
    charge: LOST,
    steps: [PAY],
    lateOrder: [1],
  },
  "a hold that was captured in part is found by its order": {
    kind: "card_auth",
    charge: LOST,
    steps: [{ do: "elsewhere", what: "capture", amount: 36_000 }],
  },
};

for (const [index, [name, story]] of Object.entries(ENDED_BADLY).entries()) {
  Deno.test(name, async () => {
    const plan: Plan = {
      seed: index,
      charge: { at: "a", how: "well", meanwhile: [] },
      sync: { at: "a", by: "check_status" },
      lateOrder: null,
      ...story,
    };
    const [failure] = await liveAll(await createDatabase(), [plan]);
    if (failure) throw failure.error;
  });
}

/** The latest webhook arrives, as it was sent or as somebody has made it. */
function deliver(mutation?: string): Step {
  const change = mutation === undefined ? undefined : mutationOf(mutation);
  return { do: "deliver", at: "a", which: 1, ...change && { mutation: change } };
}

interface Failure {
  plan: Plan;
  error: unknown;
}

/** Those that went wrong, of histories that happen at the same time. */
async function liveAll(databaseUrl: string, plans: Plan[]): Promise<Failure[]> {
  await using world = await openWorld(databaseUrl);
  const { database } = world.apps.a;
  const ends = await Promise.allSettled(plans.map((plan) => live(world, plan, orderOf(plan))));
  const kept = Map.groupBy(
    await readKept(database, plans.map(orderOf)),
    ({ order_id }) => order_id,
  );
  const failures = ends.flatMap((end, index): Failure[] => {
    const plan = plans[index]!;
    try {
      if (end.status === "rejected") throw end.reason;
      checkLived(end.value, kept.get(orderOf(plan)) ?? []);
      return [];
    } catch (error) {
      return [{ plan, error }];
    }
  });
  if (failures.length === 0) await checkBystander(database, world.bystander);
  return failures;
}

function orderOf({ seed }: Plan): string {
  return `simulated-${seed}`;
}

function tellFailures(failures: Failure[]): string {
  const [{ plan, error }] = failures as [Failure];
  const others = failures.slice(1).map(({ plan: { seed } }) => seed);
  return [
    `seed=${plan.seed}: ${error instanceof Error ? error.message : error}`,
    tellPlan(plan),
    `Again: SIMULATION_SEED=${plan.seed} deno task test tests/simulation_test.ts`,
    ...others.length > 0 ? [`Failed at the same time: ${others.join(", ")}`] : [],
  ].join("\n");
}
