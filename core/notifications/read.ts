/** `listNotifications`, for staff and viewers, and `replayNotification`, for staff. */

import {
  findNotification,
  type GatewayNotification,
  listNotifications as list,
  type NotificationStatus,
} from "../../db/notifications.ts";
import { type Caller, requireReadAll, requireStaff } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { GatewayError } from "../gateway/errors.ts";
import { firstIdAt } from "../ids.ts";
import { checkProblem } from "../records/problems.ts";
import { actAs } from "../records/record.ts";
import { confirmNotification, type NotificationDeps } from "./confirm.ts";

export { NOTIFICATION_STATUSES } from "../../db/notifications.ts";

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

export interface NotificationFilter {
  orderId: string | null;
  status: NotificationStatus | null;
  /** Inclusive; null: no lower limit. */
  createdFrom: Date | null;
  /** Exclusive; null: no upper limit. */
  createdBefore: Date | null;
  limit: number;
  /** The `next` of the previous page; null: the first page. */
  before: string | null;
}

export interface NotificationPage {
  notifications: NotificationView[];
  /** Pass it as `before` to read the next page; null: this is the last page. */
  next: string | null;
}

export async function listNotifications(
  { database }: NotificationDeps,
  caller: Caller,
  { createdFrom, createdBefore, before, limit, ...filter }: NotificationFilter,
): Promise<NotificationPage> {
  requireReadAll(caller);
  const endId = createdBefore && firstIdAt(createdBefore);
  const rows = await database.query(
    (sql) =>
      list(sql, {
        ...filter,
        from: createdFrom && firstIdAt(createdFrom),
        before: before !== null && endId !== null && endId < before ? endId : before ?? endId,
        limit: limit + 1,
      }),
    "list notifications",
  );
  const page = rows.slice(0, limit);
  return {
    notifications: page.map(viewNotification),
    next: rows.length > limit ? page.at(-1)!.id : null,
  };
}

/** Asks the gateway about the notification again. */
export async function replayNotification(
  service: NotificationDeps,
  caller: Caller,
  id: string,
): Promise<NotificationView> {
  const deps = actAs(service, caller);
  requireStaff(caller);
  const found = await deps.database.query((sql) => findNotification(sql, id), "find notification");
  if (!found) throw new ServiceError("not_found");
  try {
    return viewNotification(await confirmNotification(deps, found));
  } catch (error) {
    throw error instanceof GatewayError ? checkProblem(error) : error;
  }
}
