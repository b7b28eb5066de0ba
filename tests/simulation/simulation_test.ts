import { createDatabase } from "../support/database/database.ts";
import { checkBystander, checkResult, readPaymentRows } from "../support/simulation/check.ts";
import { mutationOf } from "../support/simulation/mutations.ts";
import { describePlan, type Plan, planOf, type Step } from "../support/simulation/plan.ts";
import { runPlan } from "../support/simulation/run.ts";
import { openWorld } from "../support/simulation/world.ts";

/** SIMULATION_SEED runs one history; SIMULATION_HISTORIES says how many follow it. */
const SEED = Deno.env.get("SIMULATION_SEED");
const FIRST = Number(SEED ?? 1);
const HISTORIES = Number(Deno.env.get("SIMULATION_HISTORIES") ?? (SEED ? 1 : 2_000));

/** How many histories run at the same time. */
const AT_ONCE = 100;

const PAY: Step = { do: "happen", what: "pay", body: {} };

Deno.test(`simulation: after ${HISTORIES} random histories every payment has the gateway's state, with one event per change`, async () => {
  const databaseUrl = await createDatabase();
  for (let done = 0; done < HISTORIES; done += AT_ONCE) {
    const length = Math.min(AT_ONCE, HISTORIES - done);
    const plans = Array.from({ length }, (_, index) => planOf(FIRST + done + index));
    const failures = await runPlans(databaseUrl, plans);
    if (failures.length > 0) {
      throw new Error(describeFailures(failures), { cause: failures[0]!.error });
    }
  }
});

const LOST: Plan["charge"] = { at: "b", how: "lost", meanwhile: [] };

/** Histories that failed once, reduced to the shortest form. */
const REGRESSIONS: Record<string, Pick<Plan, "kind" | "steps"> & Partial<Plan>> = {
  "refunds that are forged into a notification are ignored": {
    kind: "gopay",
    steps: [PAY, deliver("refund_amount+refunds")],
  },
  "a forged fraud status is corrected by a check": {
    kind: "bca",
    steps: [{ do: "happen", what: "expire", body: {} }, deliver('fraud_status: "deny"')],
  },
  "a forged challenge leaves a pending payment pending": {
    kind: "bca",
    steps: [deliver('transaction_status+fraud_status: "capture"+"challenge"')],
  },
  "a card payment with a forged challenge still expires": {
    kind: "card_3ds",
    steps: [
      deliver('transaction_status+fraud_status: "capture"+"challenge"'),
      { do: "happen", what: "expire", body: {} },
    ],
  },
  "a capture with a forged settlement can still be cancelled": {
    kind: "card",
    steps: [
      deliver('transaction_status: "settlement"'),
      { do: "elsewhere", what: "cancel" },
    ],
  },
  "a forged settlement does not make an authorization paid": {
    kind: "card_auth_3ds",
    steps: [
      { do: "happen", what: "three_ds", body: {} },
      deliver('transaction_status: "settlement"'),
    ],
  },
  "a charge with an unknown outcome does not take over a forged transaction": {
    kind: "card",
    charge: LOST,
    steps: [deliver('transaction_id: "8c0')],
  },
  "a charge that cannot be found by its order is found by its notification": {
    kind: "dana",
    charge: LOST,
    steps: [{ do: "happen", what: "pay", body: { fee: 2_500 } }, deliver()],
  },
  "a failed charge is restored, as the same payment, by its notifications": {
    kind: "dana",
    charge: LOST,
    steps: [PAY],
    lateOrder: [1],
  },
  "an authorization that was captured in part is found by its order": {
    kind: "card_auth",
    charge: LOST,
    steps: [{ do: "elsewhere", what: "capture", amount: 36_000 }],
  },
};

for (const [index, [name, history]] of Object.entries(REGRESSIONS).entries()) {
  Deno.test(`simulation: ${name}`, async () => {
    const plan: Plan = {
      seed: index,
      charge: { at: "a", how: "well", meanwhile: [] },
      sync: { at: "a", by: "check_status" },
      lateOrder: null,
      ...history,
    };
    const [failure] = await runPlans(await createDatabase(), [plan]);
    if (failure) throw failure.error;
  });
}

/** Delivers the latest notification, as it was sent or forged. */
function deliver(mutation?: string): Step {
  const change = mutation === undefined ? undefined : mutationOf(mutation);
  return { do: "deliver", at: "a", which: 1, ...change && { mutation: change } };
}

interface Failure {
  plan: Plan;
  error: unknown;
}

/** Runs the histories at the same time; returns those that failed. */
async function runPlans(databaseUrl: string, plans: Plan[]): Promise<Failure[]> {
  await using world = await openWorld(databaseUrl);
  const { database } = world.apps.a;
  const ends = await Promise.allSettled(plans.map((plan) => runPlan(world, plan, orderOf(plan))));
  const rows = Map.groupBy(
    await readPaymentRows(database, plans.map(orderOf)),
    ({ order_id }) => order_id,
  );
  const failures = ends.flatMap((end, index): Failure[] => {
    const plan = plans[index]!;
    try {
      if (end.status === "rejected") throw end.reason;
      checkResult(end.value, rows.get(orderOf(plan)) ?? []);
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

function describeFailures(failures: Failure[]): string {
  const [{ plan, error }] = failures as [Failure];
  const others = failures.slice(1).map(({ plan: { seed } }) => seed);
  return [
    `seed=${plan.seed}: ${error instanceof Error ? error.message : error}`,
    describePlan(plan),
    `Repeat it: SIMULATION_SEED=${plan.seed} deno task test tests/simulation/simulation_test.ts`,
    ...others.length > 0 ? [`Failed at the same time: ${others.join(", ")}`] : [],
  ].join("\n");
}
