/** `process_notification`: finishes one that the gateway could not be asked about in time. */

import { v7 as uuidv7 } from "uuid";
import type { GatewayJob, NewJob } from "../../db/jobs.ts";
import { findNotification, type GatewayNotification } from "../../db/notifications.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { Task } from "../jobs/task.ts";
import type { PaymentDeps } from "../payments/deps.ts";
import { confirmNotification } from "./confirm.ts";
import { note } from "./note.ts";

export const PROCESS_NOTIFICATION = "process_notification";

const RETRIES = 5;
const FIRST_DELAY_MS = 60_000;

export function processingJob({ id }: GatewayNotification, now: Date): NewJob {
  return {
    id: uuidv7(),
    task: PROCESS_NOTIFICATION,
    subject_id: id,
    payload: { notification_id: id },
    user_id: null,
    run_at: now,
    created_at: now,
  };
}

export function createProcessNotification(deps: PaymentDeps): Task {
  return {
    retries: RETRIES,
    firstDelayMs: FIRST_DELAY_MS,
    run: async (job) => await processNotification(deps, job),
  };
}

async function processNotification(deps: PaymentDeps, { subject_id, attempts }: GatewayJob) {
  const notification = await deps.database.query(
    (sql) => findNotification(sql, subject_id!),
    "find notification",
  );
  // Somebody replayed it meanwhile.
  if (notification?.status !== "received") return { status: notification?.status ?? null };
  try {
    const { status } = await confirmNotification(deps, notification);
    return { status };
  } catch (error) {
    if (error instanceof GatewayError && attempts > RETRIES) {
      await note(deps, { ...notification, status: "failed", error_message: error.message });
    }
    throw error;
  }
}
