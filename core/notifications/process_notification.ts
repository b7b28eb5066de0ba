/** `process_notification`: confirms a notification that the gateway could not confirm in time. */

import type { GatewayJob } from "../../db/jobs.ts";
import { findNotification } from "../../db/notifications.ts";
import type { Task } from "../jobs/task.ts";
import { confirmNotification, type NotificationDeps, recordNotification } from "./confirm.ts";

export function createProcessNotification(deps: NotificationDeps): Task {
  return {
    retries: 5,
    firstDelayMs: 60_000,
    async run(job) {
      const notification = await findWaiting(deps, job);
      return notification && { status: (await confirmNotification(deps, notification)).status };
    },
    async onFailed(job, error_message) {
      const notification = await findWaiting(deps, job);
      if (!notification) return;
      await recordNotification(deps, { ...notification, status: "failed", error_message });
    },
  };
}

/** Null: staff replayed the notification meanwhile. */
async function findWaiting({ database }: NotificationDeps, { subject_id }: GatewayJob) {
  const found = await database.query(
    (sql) => findNotification(sql, subject_id!),
    "find notification",
  );
  return found?.status === "received" ? found : null;
}
