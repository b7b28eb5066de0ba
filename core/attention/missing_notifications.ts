/**
 * Notices that notifications do not arrive: the service then finds most payments paid by asking the
 * gateway, minutes after the customer paid.
 */

import {
  findMissingNotifications,
  type MissingNotifications,
} from "../../db/reports/missing_notifications.ts";
import type { Service } from "../service.ts";

const MINUTE_MS = 60_000;

const WINDOW_MS = 60 * MINUTE_MS;

/** An open page can ask the gateway before the notification of the same payment arrives. */
const GRACE_MS = MINUTE_MS;

/** With fewer payments, a few lost notifications would raise a false alert. */
export const MIN_PAID = 10;

/** From this share of payments on, notifications count as not arriving. */
const MIN_SHARE = 0.5;

/** An alert ends below this share: a share close to a half must not raise it every minute. */
const END_SHARE = 0.2;

/**
 * `none_arrive`: no notification at all arrived in the last hour. `some_arrive`: others did, so the
 * gateway reaches the service with a part of its notifications.
 */
export const MISSING_REASONS = ["none_arrive", "some_arrive"] as const;

export type MissingReason = (typeof MISSING_REASONS)[number];

/** The page of the console that finds out why. */
export const DOCTOR_PATH = "/doctor/";

export interface ExplainedMissing extends MissingNotifications {
  likelyReason: MissingReason;
}

/** The paid payments of the last hour, and how many of their notifications did not arrive. */
export async function readMissingNotifications(
  { database, clock }: Pick<Service, "database" | "clock">,
): Promise<ExplainedMissing> {
  const now = clock();
  const from = new Date(now - WINDOW_MS);
  const found = await database.query(
    (sql) => findMissingNotifications(sql, { from, to: new Date(now - GRACE_MS) }),
    "find missing notifications",
  );
  const { lastNotification } = found;
  const hasArrived = lastNotification !== null && lastNotification >= from;
  return { ...found, likelyReason: hasArrived ? "some_arrive" : "none_arrive" };
}

/**
 * Whether notifications do not arrive. While `wereMissing`, little traffic proves nothing: a quiet
 * night does not end the alarm, but an hour in which every notification arrived does.
 */
export function areMissing({ paid, missing }: MissingNotifications, wereMissing: boolean): boolean {
  if (paid >= MIN_PAID) return missing >= paid * (wereMissing ? END_SHARE : MIN_SHARE);
  return wereMissing && (paid === 0 || missing > 0);
}
