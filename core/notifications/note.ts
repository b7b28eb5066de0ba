/** Writes down what came of a notification that changed no payment. */

import type { NewJob } from "../../db/jobs.ts";
import { type GatewayNotification, writingNotifications } from "../../db/notifications.ts";
import { together } from "../../db/together.ts";
import type { PaymentDeps } from "../payments/deps.ts";

export async function note(
  { database, carrier }: PaymentDeps,
  notification: GatewayNotification,
  jobs: NewJob[] = [],
): Promise<GatewayNotification> {
  const waiting = await together(database, writingNotifications, { notification, jobs });
  for (const job of waiting) carrier.carry(job);
  return notification;
}
