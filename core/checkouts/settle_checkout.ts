/**
 * The task `settle_checkout`, which follows each change of a checkout's payment and closes what has
 * to be closed, and `check_checkouts`, which enqueues it for checkouts that end now.
 */

import {
  findCheckout,
  type GatewayCheckout,
  listDueCheckouts,
} from "../../db/billing/checkouts.ts";
import { type DueJob, type GatewayJob, insertJobs } from "../../db/jobs/jobs.ts";
import { postponeChecks } from "../../db/records/records.ts";
import { enqueueInBatches } from "../jobs/enqueue_checks.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { SETTLE_CHECKOUT } from "../jobs/task_names.ts";
import { inOneMinute, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import type { Service } from "../service.ts";
import { closeOpenAttempt } from "./attempts.ts";
import { checkCardPage, hasPageEnded, isPageLost } from "./card_page.ts";
import { readCheckoutPayments, settleLaterJob } from "./checkout_record.ts";
import { settle } from "./settle.ts";
import { isCardAttempt, isRunning, openAttempt, paymentsOf } from "./states.ts";

export function createSettleCheckout(service: Service): Task {
  return {
    retries: 10,
    firstDelayMs: 10_000,
    longestDelayMs: 600_000,
    run: async ({ subject_id }: GatewayJob) => await settleCheckout(service, subject_id!),
  };
}

/** Throws `PostponeJob` until the gateway has confirmed that the attempt is closed. */
export async function settleCheckout(
  service: Service,
  id: string,
): Promise<{ status: string } | null> {
  const known = await service.database.query((sql) => findCheckout(sql, id), "find checkout");
  if (!known) return null;
  const settled = await settle(service, known, SETTLE_CHECKOUT);
  if (!await mustClose(service, settled)) {
    // If a notification was lost, only the gateway knows that the customer has paid by card.
    const checked = await checkCardPage(service, settled);
    if (checked === settled) return { status: settled.status };
    return { status: (await settle(service, checked, SETTLE_CHECKOUT)).status };
  }
  const closed = await closeOpenAttempt(service, settled);
  if (openAttempt(closed)) throw new PostponeJob(inOneMinute(service.clock()));
  return { status: closed.status };
}

async function mustClose(service: Service, checkout: GatewayCheckout): Promise<boolean> {
  const attempt = openAttempt(checkout);
  if (!attempt) return false;
  const now = service.clock();
  if (attempt.is_closing || !isRunning(checkout) || checkout.expires_at.getTime() <= now) {
    return true;
  }
  const payments = paymentsOf(attempt, await readCheckoutPayments(service, checkout));
  if (isCardAttempt(attempt)) {
    return isPageLost(service, attempt) || hasPageEnded(attempt, now) ||
      checkout.refused_payments.includes(attempt.method) ||
      payments.some(({ transaction_status }) => transaction_status === "cancel");
  }
  // The request that chose the method was cut off before it stored the payment.
  return payments.length === 0 && now - attempt.created_at.getTime() >= UNANSWERED_CHECK_MS;
}

/** Returns how many checkouts were enqueued. */
export async function checkCheckouts(service: Service): Promise<number> {
  const enqueueBatch = (limit: number) => enqueueDueCheckouts(service, limit);
  return await enqueueInBatches(service, SETTLE_CHECKOUT, enqueueBatch);
}

async function enqueueDueCheckouts({ database, clock }: Service, limit: number): Promise<DueJob[]> {
  const now = new Date(clock());
  return await database.transaction(async (sql) => {
    const due = await listDueCheckouts(sql, now, limit);
    if (due.length === 0) return [];
    // If the job is lost, the checkout is found again a minute later.
    const check_at = inOneMinute(now.getTime());
    await postponeChecks(sql, "checkouts", now, due.map(({ id }) => ({ id, check_at })));
    const checks = due.map((checkout) => ({ ...settleLaterJob(checkout, now), run_at: now }));
    return await insertJobs(sql, checks);
  }, "queue checks of checkouts");
}
