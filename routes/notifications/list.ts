/** `GET /notifications/`: what the gateway told, a page at a time. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf, text } from "../../core/input_fields.ts";
import type { NotificationDeps } from "../../core/notifications/deps.ts";
import { listNotifications } from "../../core/notifications/read.ts";
import { NOTIFICATION_STATUSES } from "../../db/notifications.ts";
import { unsentExample } from "../../openapi/components.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { basePathOf } from "../shared/paths.ts";
import { COMMON_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { NOTIFICATION_PAGE } from "./examples.ts";
import { NotificationSchema } from "./schemas.ts";

const path = "/notifications/";

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listNotifications",
  summary: "List notifications",
  description:
    "What the gateway told and what came of it, newest first: for when a payment is not as " +
    "somebody expects. `status=failed` and `status=unmatched` show what nothing could be made " +
    "of. Follow `Link` for the next page until there is none. For staff; others get " +
    "`forbidden`.",
  tags: ["Notifications"],
  request: {
    query: z.object({
      order_id: text(255).optional().openapi({
        description: "Only those of this order.",
        param: { examples: unsentExample("order-1893") },
      }),
      status: oneOf(NOTIFICATION_STATUSES).optional().openapi({
        description: "Only those with this `status`.",
        param: { examples: unsentExample("unmatched") },
      }),
      created_from: moment().optional().openapi({
        type: "string",
        format: "date-time",
        description: "Only those that came at this time or later (RFC 3339).",
        param: { examples: unsentExample("2026-03-05T00:00:00Z") },
      }),
      created_before: moment().optional().openapi({
        type: "string",
        format: "date-time",
        description: "Only those that came before this time (RFC 3339).",
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
    ...problems("validation_error", "forbidden", ...COMMON_ERRORS),
  },
});

export function addList(router: Router, deps: NotificationDeps): void {
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
}

/** Nothing came before 1970, where ids begin: a time before it means since ever. */
function moment() {
  return z.iso.datetime({ offset: true, error: "must be a time such as 2026-03-05T04:12:09Z" })
    .transform((time) => new Date(Math.max(0, Date.parse(time))));
}
