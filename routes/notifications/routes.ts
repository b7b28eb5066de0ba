/** `/notifications/…`: lists and reads notifications (staff and viewers); replays them (staff). */

import { createRoute, z } from "@hono/zod-openapi";
import { invalidField } from "../../core/errors.ts";
import {
  listNotifications,
  NOTIFICATION_STATUSES,
  readNotification,
  replayNotification,
} from "../../core/notifications/read.ts";
import { createdRange, severalOf, textParameter, timeParameter } from "../../http/lists/filters.ts";
import { IdempotencyHeaders, REPLAY_HEADER } from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { filteredLinkHeader, filteredPaging, NEXT_PAGE } from "../../http/lists/page.ts";
import { basePathOf, parsePathId, pathId } from "../../http/paths.ts";
import {
  COMMON_ERRORS,
  EMPTY_BODY_ERRORS,
  GATEWAY_ERRORS,
  KEY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
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
      order_id: textParameter("Only notifications of this order.", "order-1893"),
      status: severalOf(
        NOTIFICATION_STATUSES,
        null,
        "Only notifications with this `status`.",
        ["unmatched"],
      ),
      ...createdRange("notifications"),
      created_before: timeParameter("Former name of `created_to`.", "2026-03-06T00:00:00Z"),
      ...filteredPaging,
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

const NotificationPath = z.object({ pk: pathId("The notification's `id`.") });

const readRoute = createRoute({
  method: "get",
  path: "/notifications/{pk}/",
  operationId: "getNotification",
  summary: "Get a notification",
  description: "Returns a notification received from the gateway and its result. The id is the " +
    "`notification_id` of an event or a timeline. Staff and viewers only; other callers get " +
    "`forbidden`.",
  tags: ["Notifications"],
  request: { params: NotificationPath },
  responses: {
    200: {
      description: "The notification",
      content: { "application/json": { schema: NotificationSchema, examples: NOTIFICATIONS } },
    },
    ...problems("forbidden", "not_found", ...COMMON_ERRORS),
  },
});

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
    "needs no body. Staff only; other callers get `forbidden`.",
  tags: ["Notifications"],
  request: {
    params: NotificationPath,
    headers: IdempotencyHeaders,
  },
  responses: {
    200: {
      description: "The notification with its new result",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: NotificationSchema, examples: NOTIFICATIONS } },
    },
    ...problems(
      "forbidden",
      "not_found",
      ...EMPTY_BODY_ERRORS,
      ...KEY_ERRORS,
      ...GATEWAY_ERRORS,
      ...COMMON_ERRORS,
    ),
  },
});

export function createNotificationRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { cursor, created_before, ...query } = c.req.valid("query");
    if (created_before && query.created_to) {
      throw invalidField(
        "created_before",
        "cannot be combined with created_to; remove one of them",
      );
    }
    const filter = { ...query, created_to: query.created_to ?? created_before };
    const { notifications, next } = await listNotifications(service, callerOf(c), {
      ...filter,
      after: cursor ?? null,
    });
    const link = filteredLinkHeader(basePathOf(c, path) + path, filter, next);
    return c.json(notifications, 200, link);
  });
  router.openapi(readRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await readNotification(service, callerOf(c), id), 200);
  });
  router.openapi(
    replayRoute,
    keepReply(service, async (c) => {
      const id = parsePathId(c.req.valid("param").pk);
      return c.json(await replayNotification(service, callerOf(c), id), 200);
    }),
  );
  return router;
}
