/**
 * `listNotifications` and `readNotification`, for staff and viewers; `replayNotification`, for
 * staff.
 */

import {
  findNotification,
  type GatewayNotification,
  listNotifications as list,
  type NotificationConditions,
} from "../../db/payments/notifications.ts";
import { type Caller, requireReadAll, requireStaff } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { GatewayError } from "../gateway/errors.ts";
import { checkCursor, checkRange, idRange, refuseFilters } from "../lists/filters.ts";
import { readFilteredPage, type WalkCursor } from "../lists/page.ts";
import { checkProblem } from "../records/problems.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { confirmNotification } from "./receive.ts";

export { NOTIFICATION_STATUSES } from "../../db/payments/notifications.ts";

export type NotificationView = ReturnType<typeof viewNotification>;

export function viewNotification(notification: GatewayNotification) {
  return {
    id: notification.id,
    payment_id: notification.payment_id,
    order_id: notification.order_id,
    transaction_id: notification.transaction_id,
    transaction_status: notification.transaction_status,
    fraud_status: notification.fraud_status,
    payment_type: notification.payment_type,
    status_code: notification.status_code,
    gross_amount: notification.gross_amount,
    status: notification.status,
    error_message: notification.error_message,
    raw_payload: notification.raw_payload,
    created_at: notification.created_at.toISOString(),
  };
}

/** A missing member matches any value. */
export interface NotificationFilter extends NotificationConditions {
  /** Inclusive. */
  created_from?: Date;
  /** Exclusive. */
  created_to?: Date;
}

export interface NotificationPage {
  notifications: NotificationView[];
  /** To be passed as `after`; null on the last page. */
  next: WalkCursor | null;
}

export async function listNotifications(
  { database }: Service,
  caller: Caller,
  filter: NotificationFilter & { after: WalkCursor | null; limit: number },
): Promise<NotificationPage> {
  requireReadAll(caller);
  const { created_from, created_to, limit, ...conditions } = filter;
  refuseFilters(checkRange(["created_from", created_from], ["created_to", created_to]));
  checkCursor(filter.after, false);
  const ids = idRange(created_from, created_to);
  const { rows, next } = await readFilteredPage(
    limit,
    (limit) =>
      database.query((sql) => list(sql, { ...conditions, ...ids, limit }), "list notifications"),
  );
  return { notifications: rows.map(viewNotification), next };
}

export async function readNotification(
  service: Service,
  caller: Caller,
  id: string,
): Promise<NotificationView> {
  requireReadAll(caller);
  return viewNotification(await requireNotification(service, id));
}

async function requireNotification(
  { database }: Service,
  id: string,
): Promise<GatewayNotification> {
  const found = await database.query((sql) => findNotification(sql, id), "find notification");
  if (!found) throw new ServiceError("not_found");
  return found;
}

/** Asks the gateway for the notification's transaction, and applies the response. */
export async function replayNotification(
  service: Service,
  caller: Caller,
  id: string,
): Promise<NotificationView> {
  const asCaller = actAs(service, caller);
  requireStaff(caller);
  const found = await requireNotification(asCaller, id);
  try {
    return viewNotification(await confirmNotification(asCaller, found));
  } catch (error) {
    throw error instanceof GatewayError ? checkProblem(error) : error;
  }
}
