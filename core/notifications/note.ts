/** Writes down what came of a notification that changed no payment. */

import type { NewJob } from "../../db/jobs.ts";
import { type GatewayNotification, notificationWrites } from "../../db/notifications.ts";
import { batched } from "../../db/batched.ts";
import type { PaymentDeps } from "../payments/deps.ts";

export async function note(
  { database, jobQueue }: PaymentDeps,
  notification: GatewayNotification,
  jobs: NewJob[] = [],
): Promise<GatewayNotification> {
  const waiting = await batched(database, notificationWrites, { notification, jobs });
  for (const job of waiting) jobQueue.enqueue(job);
  return notification;
}
