/** `listNotifications`: what the gateway told, for staff. */

import {
  findNotification,
  type GatewayNotification,
  listNotifications as list,
  type NotificationStatus,
} from "../../db/notifications.ts";
import { type Caller, requireStaff } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { firstIdAt } from "../ids.ts";
import type { NotificationDeps } from "./deps.ts";
import { type NotificationView, viewNotification } from "./views.ts";

export interface NotificationFilter {
  orderId: string | null;
  status: NotificationStatus | null;
  /** From this moment on, and before that one; null: since ever, until now. */
  createdFrom: Date | null;
  createdBefore: Date | null;
  limit: number;
  /** The last notification of the page before. */
  before: string | null;
}

export interface NotificationPage {
  notifications: NotificationView[];
  /** Where the next page begins, to be given as `before`; null on the last one. */
  next: string | null;
}

export async function listNotifications(
  { database }: NotificationDeps,
  caller: Caller,
  { createdFrom, createdBefore, before, limit, ...filter }: NotificationFilter,
): Promise<NotificationPage> {
  requireStaff(caller);
  const end = createdBefore && firstIdAt(createdBefore);
  const rows = await database.query(
    (sql) =>
      list(sql, {
        ...filter,
        from: createdFrom && firstIdAt(createdFrom),
        before: before !== null && end !== null ? before < end ? before : end : before ?? end,
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

export async function findForStaff(
  { database }: NotificationDeps,
  caller: Caller,
  id: string,
): Promise<GatewayNotification> {
  requireStaff(caller);
  const found = await database.query((sql) => findNotification(sql, id), "find notification");
  if (!found) throw new ServiceError("not_found");
  return found;
}
