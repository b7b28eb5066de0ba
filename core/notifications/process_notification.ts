/** `process_notification`: confirms a notification that the gateway could not confirm in time. */

import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { findNotification, type GatewayNotification } from "../../db/payments/notifications.ts";
import { gatewayPauseMs } from "../gateway/background_pause.ts";
import { leavesStateUnknown } from "../gateway/errors.ts";
import { errorText, PostponeJob, type Task } from "../jobs/task.ts";
import { changePayment } from "../payments/payment_record.ts";
import { checkTimeAfterCall } from "../records/act.ts";
import type { Service } from "../service.ts";
import { confirmNotification, findNotifiedPayment, recordNotification } from "./receive.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * For how long the job waits for a gateway that does not answer. The gateway does not send the
 * notification again, because the service responded to it with 200.
 */
const MAX_WAIT_MS = 7 * 24 * HOUR_MS;

export function createProcessNotification(service: Service): Task {
  return {
    retries: 5,
    firstDelayMs: MINUTE_MS,
    async run(job) {
      const notification = await findWaiting(service, job);
      if (!notification) return null;
      try {
        return { status: (await confirmNotification(service, notification)).status };
      } catch (error) {
        const ageMs = service.clock() - notification.created_at.getTime();
        if (!leavesStateUnknown(error) || ageMs >= MAX_WAIT_MS) throw error;
        const pauseMs = gatewayPauseMs(service, ["read"]) || pauseAtAge(ageMs);
        throw new PostponeJob(new Date(service.clock() + pauseMs), errorText(error));
      }
    },
    async onFailed(job, error_message) {
      const notification = await findWaiting(service, job);
      if (notification) await giveUp(service, { ...notification, status: "failed", error_message });
    },
  };
}

/** The pause is as long as the notification is old: 1, 1, 2, 4, … minutes, at most an hour. */
function pauseAtAge(ageMs: number): number {
  return Math.min(Math.max(ageMs, MINUTE_MS), HOUR_MS);
}

/**
 * Finds the job's notification if it waits for confirmation: its status is `received`, or `failed`
 * if staff retried the failed job. Null: it no longer waits, because staff replayed it meanwhile.
 */
async function findWaiting({ database }: Service, { subject_id }: GatewayJob) {
  const found = await database.query(
    (sql) => findNotification(sql, subject_id!),
    "find notification",
  );
  return found && ["received", "failed"].includes(found.status) ? found : null;
}

/**
 * Stores that the notification failed. Sets `check_at`, so that `check_pending_payments` checks the
 * payment until the gateway answers.
 */
async function giveUp(service: Service, notification: GatewayNotification): Promise<void> {
  const payment = await findNotifiedPayment(service, notification);
  if (!payment) {
    await recordNotification(service, notification);
    return;
  }
  await changePayment(service, payment, (current) => ({
    set: { check_at: checkTimeAfterCall(current, service.clock()) },
    notification: { ...notification, payment_id: current.id },
  }));
}
