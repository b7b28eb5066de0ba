/** `process_notification`: finishes one that the gateway could not be asked about in time. */

import type { GatewayJob, NewJob } from "../../db/jobs.ts";
import { findNotification, type GatewayNotification } from "../../db/notifications.ts";
import type { Task } from "../jobs/task.ts";
import { newJob } from "../outbox.ts";
import type { PaymentDeps } from "../payments/deps.ts";
import { confirmNotification } from "./confirm.ts";
import { note } from "./note.ts";

export const PROCESS_NOTIFICATION = "process_notification";

export function processingJob({ id }: GatewayNotification, now: Date): NewJob {
  const subject = { id, user_id: null };
  return newJob(PROCESS_NOTIFICATION, subject, { notification_id: id }, { runAt: now, now });
}

export function createProcessNotification(deps: PaymentDeps): Task {
  return {
    retries: 5,
    firstDelayMs: 60_000,
    async run(job) {
      const notification = await findWaiting(deps, job);
      return notification && { status: (await confirmNotification(deps, notification)).status };
    },
    async onFailed(job, error_message) {
      const notification = await findWaiting(deps, job);
      if (notification) await note(deps, { ...notification, status: "failed", error_message });
    },
  };
}

/** Null: somebody replayed it meanwhile. */
async function findWaiting({ database }: PaymentDeps, { subject_id }: GatewayJob) {
  const found = await database.query(
    (sql) => findNotification(sql, subject_id!),
    "find notification",
  );
  return found?.status === "received" ? found : null;
}
