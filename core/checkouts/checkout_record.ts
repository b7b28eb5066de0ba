/** Checkouts as records: how they are stored and followed up, and their problem documents. */

import {
  CHECKOUT_COLUMNS,
  checkoutWrites,
  findCheckout,
  type GatewayCheckout,
} from "../../db/billing/checkouts.ts";
import type { NewJob } from "../../db/jobs/jobs.ts";
import { listPaymentsOfCheckout } from "../../db/payments/statements.ts";
import { fixedNames } from "../../db/records/columns.ts";
import type { Caller } from "../auth/caller.ts";
import { SETTLE_CHECKOUT } from "../jobs/task_names.ts";
import { isAmount } from "../money.ts";
import { changeRecord } from "../records/change.ts";
import { inOneMinute } from "../records/check_times.ts";
import { type JobSubject, newJob } from "../records/new_job.ts";
import { createProblems } from "../records/problems.ts";
import { type Change, findReset, type RecordKind } from "../records/record.ts";
import type { Service } from "../service.ts";
import { canBecome, type CheckoutStatus } from "./states.ts";
import { type CheckoutView, shownOf, viewCheckout } from "./views.ts";

export const problems = createProblems<GatewayCheckout>(
  ({ id, order_id }) => ({ checkout_id: id, order_id }),
  ({ status }) => ({ checkout_status: status }),
);

/** Looks at the checkout in a minute, for example after a request that may have been cut off. */
export function settleLaterJob(checkout: JobSubject, now: Date): NewJob {
  const runAt = inOneMinute(now.getTime());
  return newJob(SETTLE_CHECKOUT, checkout, { checkout_id: checkout.id }, { runAt, now });
}

export const checkoutKind: RecordKind<GatewayCheckout, CheckoutView> = {
  resource: "checkout",
  find: findCheckout,
  writes: checkoutWrites,
  view: viewCheckout,
  shownOf,
  stateOf: ({ status }) => ({ status, fraud: null }),
  fixed: fixedNames(CHECKOUT_COLUMNS),
  findViolation,
  apply: (current, { set, transition, attempts = [] }) => ({
    ...current,
    ...set,
    ...transition && { status: transition.to.status as CheckoutStatus },
    attempts: mergeAttempts(current, attempts),
  }),
  belongsInHistory: (before, after) => before.status !== after.status,
  followUps: () => [],
  checkJob: settleLaterJob,
  problems,
};

function mergeAttempts(
  { attempts }: GatewayCheckout,
  changed: NonNullable<Change<GatewayCheckout>["attempts"]>,
) {
  const byId = new Map([...attempts, ...changed].map((attempt) => [attempt.id, attempt]));
  return [...byId.values()].sort((a, b) => a.number - b.number);
}

function findViolation(checkout: GatewayCheckout, before: GatewayCheckout | null): string | null {
  const { gross_amount, status, payment_id, attempts } = checkout;
  if (!isAmount(gross_amount)) return `gross_amount cannot be ${gross_amount}`;
  if ((status === "paid") !== (payment_id !== null)) return `it is ${status}, with a payment`;
  if (attempts.filter(({ closed_at }) => closed_at === null).length > 1) {
    return "two attempts may be payable";
  }
  if (!before) return null;
  if (status !== before.status && !canBecome(before.status, status)) {
    return `its status cannot go from ${before.status} to ${status}`;
  }
  return findReset(checkout, before, ["payment_id", "extra_payment_id"]);
}

export async function changeCheckout(
  service: Service,
  known: GatewayCheckout,
  decide: (current: GatewayCheckout) => Change<GatewayCheckout> | null,
): Promise<GatewayCheckout> {
  return await changeRecord(service, checkoutKind, known, decide);
}

export async function readCheckoutPayments(
  { database }: Service,
  { id }: Pick<GatewayCheckout, "id">,
) {
  return await database.query(
    (sql) => listPaymentsOfCheckout(sql, id),
    "list payments of checkout",
  );
}

/** The customer acts for the owner, but is named as the actor. */
export function customerOf({ id, user_id }: GatewayCheckout): Caller {
  return {
    userId: user_id,
    isStaff: false,
    isViewer: false,
    credential: "api_key",
    keyPrefix: null,
    actor: `checkout:${id}`,
  };
}
