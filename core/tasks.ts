/** The table of tasks: everything that can be done as a job, by name. */

import { createDeliveries } from "./events/deliver.ts";
import type { Tasks } from "./jobs/task.ts";
import {
  createProcessNotification,
  PROCESS_NOTIFICATION,
} from "./notifications/process_notification.ts";
import { CHECK_PAYMENT_STATUS } from "./payments/check_job.ts";
import { createCheckPaymentStatus } from "./payments/check_payment_status.ts";
import type { PaymentDeps } from "./payments/deps.ts";

export type TaskDeps = PaymentDeps;

export function createTasks(deps: TaskDeps): Tasks {
  return {
    [CHECK_PAYMENT_STATUS]: createCheckPaymentStatus(deps),
    [PROCESS_NOTIFICATION]: createProcessNotification(deps),
    ...createDeliveries(deps),
  };
}
