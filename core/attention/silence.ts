/**
 * Notices that notifications do not arrive: the service then finds most payments paid by asking the
 * gateway, minutes after the customer paid.
 */

import { findMissingNotifications, type MissingNotifications } from "../../db/reports/silence.ts";
import type { Service } from "../service.ts";

const MINUTE_MS = 60_000;

const WINDOW_MS = 60 * MINUTE_MS;

/** An open page can ask the gateway before the notification of the same payment arrives. */
const GRACE_MS = MINUTE_MS;

/** With fewer paid payments in the hour, a few lost notifications would be an alarm. */
export const MIN_PAID = 10;

/** From this share of payments on, notifications count as not arriving. */
const MIN_SHARE = 0.5;

/**
 * `none_arrive`: no notification at all arrived in the last hour. `some_arrive`: others did, so the
 * gateway reaches the service with a part of its notifications.
 */
export const SILENCE_CAUSES = ["none_arrive", "some_arrive"] as const;

export type SilenceCause = (typeof SILENCE_CAUSES)[number];

/** The page of the console that finds out why. */
export const DOCTOR_PATH = "/doctor/";

export interface Silence extends MissingNotifications {
  likelyCause: SilenceCause;
}

/** The paid payments of the last hour, and how many of their notifications did not arrive. */
export async function readSilence(
  { database, clock }: Pick<Service, "database" | "clock">,
): Promise<Silence> {
  const now = clock();
  const from = new Date(now - WINDOW_MS);
  const found = await database.query(
    (sql) => findMissingNotifications(sql, { from, to: new Date(now - GRACE_MS) }),
    "find missing notifications",
  );
  const { lastNotification } = found;
  const hasArrived = lastNotification !== null && lastNotification >= from;
  return { ...found, likelyCause: hasArrived ? "some_arrive" : "none_arrive" };
}

/**
 * Whether notifications do not arrive. While `wasSilent`, little traffic proves nothing: a quiet
 * night does not end the alarm, but an hour in which every notification arrived does.
 */
export function isSilent({ paid, missing }: MissingNotifications, wasSilent: boolean): boolean {
  if (paid >= MIN_PAID) return missing >= paid * MIN_SHARE;
  return wasSilent && (paid === 0 || missing > 0);
}
