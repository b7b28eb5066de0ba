/** `/notifications/…`: lists notifications, for staff and viewers; replays them, for staff. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf, text, time } from "../../core/input_fields.ts";
import type { NotificationDeps } from "../../core/notifications/confirm.ts";
import {
  listNotifications,
  NOTIFICATION_STATUSES,
  replayNotification,
} from "../../core/notifications/read.ts";
import { unsentExample } from "../../openapi/components.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { basePathOf, parsePathId, pathId } from "../shared/paths.ts";
import { COMMON_ERRORS, GATEWAY_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, createRouter, type Router } from "../shared/router.ts";
import { NOTIFICATION_PAGE, NOTIFICATIONS } from "./examples.ts";
import { NotificationSchema } from "./schemas.ts";

const path = "/notifications/";

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listNotifications",
  summary: "List notifications",
  description:
    "Returns the notifications received from the gateway and their results, newest first. Use " +
    "it to find out why a payment is not in the expected state: `status=failed` and " +
    "`status=unmatched` show notifications that could not be applied. Follow `Link` for the next " +
    "page until it is absent. Staff and viewers only; other callers get `forbidden`.",
  tags: ["Notifications"],
  request: {
    query: z.object({
      order_id: text(255).optional().openapi({
        description: "Only notifications of this order.",
        param: { examples: unsentExample("order-1893") },
      }),
      status: oneOf(NOTIFICATION_STATUSES).optional().openapi({
        description: "Only notifications with this `status`.",
        param: { examples: unsentExample("unmatched") },
      }),
      created_from: timeFilter().optional().openapi({
        type: "string",
        format: "date-time",
        description: "Only notifications received at or after this time (RFC 3339).",
        param: { examples: unsentExample("2026-03-05T00:00:00Z") },
      }),
      created_before: timeFilter().optional().openapi({
        type: "string",
        format: "date-time",
        description: "Only notifications received before this time (RFC 3339).",
        param: { examples: unsentExample("2026-03-06T00:00:00Z") },
      }),
      ...paging,
    }),
  },
  responses: {
    200: {
      description: "A page of notifications",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(NotificationSchema), examples: NOTIFICATION_PAGE },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

/** Times before 1970 become 1970: the list is filtered by ids, whose timestamps start there. */
function timeFilter() {
  return time().transform((time) => new Date(Math.max(0, time.getTime())));
}

const replayRoute = createRoute({
  method: "post",
  path: "/notifications/{pk}/replay/",
  operationId: "replayNotification",
  summary: "Replay a notification",
  description:
    "Fetches the notification's transaction from the gateway and applies its current state, not " +
    "the state in the notification. Use it for `failed` or `unmatched` notifications after " +
    "fixing the cause. It is safe to repeat. If the gateway does not respond " +
    "(`gateway_timeout`, `gateway_unreachable`), the notification is unchanged: retry later. It " +
    "needs no body. Requires a staff key; otherwise the error is `forbidden`.",
  tags: ["Notifications"],
  request: { params: z.object({ pk: pathId("The notification's `id`.") }) },
  responses: {
    200: {
      description: "The notification with its new result",
      content: { "application/json": { schema: NotificationSchema, examples: NOTIFICATIONS } },
    },
    ...problems(
      "forbidden",
      "not_found",
      "payload_too_large",
      "unsupported_media_type",
      ...GATEWAY_ERRORS,
      ...COMMON_ERRORS,
    ),
  },
});

export function createNotificationRoutes(deps: NotificationDeps): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { order_id, status, created_from, created_before, limit, cursor } = c.req.valid("query");
    const { notifications, next } = await listNotifications(deps, callerOf(c), {
      orderId: order_id ?? null,
      status: status ?? null,
      createdFrom: created_from ?? null,
      createdBefore: created_before ?? null,
      limit,
      before: cursor ?? null,
    });
    const query = {
      order_id,
      status,
      created_from: created_from?.toISOString(),
      created_before: created_before?.toISOString(),
      limit,
    };
    return c.json(notifications, 200, linkHeader(basePathOf(c, path) + path, query, next));
  });
  router.openapi(replayRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await replayNotification(deps, callerOf(c), id), 200);
  });
  return router;
}
