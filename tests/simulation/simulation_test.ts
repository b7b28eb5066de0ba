import { createDatabase } from "../support/database/database.ts";
import { assertNoContradictions } from "../support/records/contradictions.ts";
import { shareOf } from "../support/share.ts";
import { checkOtherPayment, checkResult, readPaymentRows } from "../support/simulation/check.ts";
import { findMutation } from "../support/simulation/mutations.ts";
import { createPlan, describePlan, type Plan, type Step } from "../support/simulation/plan.ts";
import { runPlan } from "../support/simulation/run.ts";
import { openSimulation } from "../support/simulation/simulation.ts";

/** The first seed. If it is set without SIMULATION_PLANS, only the plan of this seed runs. */
const SEED = Deno.env.get("SIMULATION_SEED");
const FIRST_SEED = Number(SEED ?? 1);
const PLAN_COUNT = Number(Deno.env.get("SIMULATION_PLANS") ?? (SEED ? 1 : shareOf(2_000)));

/**
 * How many plans run at the same time. With more, a busy machine exceeds the service's time limits.
 */
const BATCH_SIZE = 50;

/**
 * Status responses contain the metadata in every second batch. In a full run, these are the seeds
 * 51 to 100, 151 to 200, …
 */
function hasMetadata(seed: number): boolean {
  return Math.floor((seed - 1) / BATCH_SIZE) % 2 === 1;
}

const PAY: Step = { do: "external", action: "pay", body: {} };

Deno.test(`simulation: after ${PLAN_COUNT} random plans every payment has the gateway's state, with one event per change`, async () => {
  const databaseUrl = await createDatabase();
  for (let done = 0; done < PLAN_COUNT; done += BATCH_SIZE) {
    const length = Math.min(BATCH_SIZE, PLAN_COUNT - done);
    const plans = Array.from({ length }, (_, index) => createPlan(FIRST_SEED + done + index));
    const failures = await runPlans(databaseUrl, plans, hasMetadata(FIRST_SEED + done));
    if (failures.length > 0) {
      throw new Error(describeFailures(failures), { cause: failures[0]!.error });
    }
  }
});

const RESPONSE_LOST: Plan["charge"] = { at: "b", how: "response_lost", meanwhile: [] };

/** Plans that failed in the past, reduced to the shortest form. */
const REGRESSIONS: Record<string, Pick<Plan, "kind" | "steps"> & Partial<Plan>> = {
  "refunds that were forged in a notification are ignored": {
    kind: "gopay",
    steps: [PAY, deliver("refund_amount+refunds")],
  },
  "a forged fraud status is corrected by a check": {
    kind: "bca",
    steps: [{ do: "external", action: "expire", body: {} }, deliver('fraud_status: "deny"')],
  },
  "a forged challenge leaves a pending payment pending": {
    kind: "bca",
    steps: [deliver('transaction_status+fraud_status: "capture"+"challenge"')],
  },
  "a card payment with a forged challenge still expires": {
    kind: "card_3ds",
    steps: [
      deliver('transaction_status+fraud_status: "capture"+"challenge"'),
      { do: "external", action: "expire", body: {} },
    ],
  },
  "a capture with a forged settlement can still be cancelled": {
    kind: "card",
    steps: [
      deliver('transaction_status: "settlement"'),
      { do: "dashboard", action: "cancel" },
    ],
  },
  "a forged settlement does not make an authorization paid": {
    kind: "card_auth_3ds",
    steps: [
      { do: "external", action: "three_ds", body: {} },
      deliver('transaction_status: "settlement"'),
    ],
  },
  "a charge with an unknown outcome does not adopt a forged transaction id": {
    kind: "card",
    charge: RESPONSE_LOST,
    steps: [deliver('transaction_id: "8c0')],
  },
  "a charge that the gateway does not find by order id is found by its notification": {
    kind: "dana",
    charge: RESPONSE_LOST,
    steps: [{ do: "external", action: "pay", body: { fee: 2_500 } }, deliver()],
  },
  "late notifications restore a failed charge as the same payment": {
    kind: "dana",
    charge: RESPONSE_LOST,
    steps: [PAY],
    redeliveryOrder: [1],
  },
  "a forged original amount does not give a charge with an unknown outcome a second payment": {
    kind: "dana",
    charge: RESPONSE_LOST,
    steps: [PAY, deliver('metadata: {"extra_info"')],
  },
  "an authorization that was captured in part is found by its order id": {
    kind: "card_auth",
    charge: RESPONSE_LOST,
    steps: [{ do: "dashboard", action: "capture", amount: 36_000 }],
  },
};

Deno.test("simulation: plans that failed in the past lead to the gateway's state", async () => {
  const names = Object.keys(REGRESSIONS);
  const plans = Object.values(REGRESSIONS).map((regression, index): Plan => ({
    seed: index,
    charge: { at: "a", how: "answered", meanwhile: [] },
    sync: { at: "a", by: "check_status" },
    redeliveryOrder: null,
    ...regression,
  }));
  for (const isShown of [false, true]) {
    const failures = await runPlans(await createDatabase(), plans, isShown);
    const messages = failures.map(({ plan, error }) => `${names[plan.seed]}: ${error}`);
    if (failures.length > 0) throw new Error(messages.join("\n"), { cause: failures[0]!.error });
  }
});

/** Delivers the latest notification, unchanged or with a forgery. */
function deliver(forgery?: string): Step {
  const mutation = forgery === undefined ? undefined : findMutation(forgery);
  return { do: "deliver", at: "a", position: 1, ...mutation && { mutation } };
}

interface Failure {
  plan: Plan;
  error: unknown;
}

/** Runs the plans at the same time and returns the failures. */
async function runPlans(
  databaseUrl: string,
  plans: Plan[],
  hasMetadata: boolean,
): Promise<Failure[]> {
  await using simulation = await openSimulation(databaseUrl, hasMetadata);
  const { database } = simulation.apps.a;
  const results = await Promise.allSettled(
    plans.map((plan) => runPlan(simulation, plan, orderIdOf(plan))),
  );
  const rows = Map.groupBy(
    await readPaymentRows(database, plans.map(orderIdOf)),
    ({ order_id }) => order_id,
  );
  const failures = results.flatMap((result, index): Failure[] => {
    const plan = plans[index]!;
    try {
      if (result.status === "rejected") throw result.reason;
      checkResult(result.value, rows.get(orderIdOf(plan)) ?? []);
      return [];
    } catch (error) {
      return [{ plan, error }];
    }
  });
  if (failures.length === 0) {
    await checkOtherPayment(database, simulation.otherPayment);
    await assertNoContradictions(database);
  }
  return failures;
}

function orderIdOf({ seed }: Plan): string {
  return `simulated-${seed}`;
}

function describeFailures(failures: Failure[]): string {
  const [{ plan, error }] = failures as [Failure];
  const otherSeeds = failures.slice(1).map(({ plan: { seed } }) => seed);
  return [
    `seed=${plan.seed}: ${error instanceof Error ? error.message : error}`,
    describePlan(plan),
    `To repeat it: SIMULATION_SEED=${plan.seed} deno task test tests/simulation/simulation_test.ts`,
    ...otherSeeds.length > 0 ? [`Other seeds that failed: ${otherSeeds.join(", ")}`] : [],
  ].join("\n");
}
