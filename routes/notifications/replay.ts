/** `POST /notifications/{id}/replay/`: processes a notification again. */

import { createRoute, z } from "@hono/zod-openapi";
import type { NotificationDeps } from "../../core/notifications/deps.ts";
import { replayNotification } from "../../core/notifications/replay.ts";
import { idOf, pathId } from "../shared/paths.ts";
import { COMMON_ERRORS, GATEWAY_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { NOTIFICATIONS } from "./examples.ts";
import { NotificationSchema } from "./schemas.ts";

const replayRoute = createRoute({
  method: "post",
  path: "/notifications/{id}/replay/",
  operationId: "replayNotification",
  summary: "Replay a notification",
  description:
    "Asks the gateway for the transaction that the notification is about, and applies its " +
    "answer: what counts is how things are now, not what was told then. For notifications that " +
    "are `failed` or `unmatched`, once the cause is mended. However often it is done, nothing " +
    "happens twice. Where the gateway does not answer (`gateway_timeout`, " +
    "`gateway_unreachable`), the notification stays as it was: try again later. It needs no " +
    "body. For staff; others get `forbidden`.",
  tags: ["Notifications"],
  request: { params: z.object({ id: pathId("The notification's `id`.") }) },
  responses: {
    200: {
      description: "The notification, with what came of it now",
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

export function addReplay(router: Router, deps: NotificationDeps): void {
  router.openapi(replayRoute, async (c) => {
    const id = idOf(c.req.valid("param").id);
    return c.json(await replayNotification(deps, callerOf(c), id), 200);
  });
}
