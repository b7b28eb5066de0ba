/** `GET /events/`: what happened, a page at a time. */

import { createRoute, z } from "@hono/zod-openapi";
import { listEvents } from "../../core/events/read.ts";
import type { EventStreams } from "../../core/events/streams.ts";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { unsent } from "../../openapi/components.ts";
import { basePathOf, callerOf } from "../shared/request_context.ts";
import { anId, oneOf } from "../shared/fields.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { OF_CALLERS } from "../shared/codes.ts";
import { problems } from "../shared/problem_responses.ts";
import { createRouter, type Router } from "../shared/router.ts";
import { EventNameSchema } from "../schemas/event_name.ts";
import { EVENT_PAGE } from "./examples.ts";
import { EventSchema } from "./schemas.ts";
import { addStream } from "./stream.ts";

const path = "/events/";

const eventsRoute = createRoute({
  method: "get",
  path,
  operationId: "listEvents",
  summary: "List events",
  description:
    "What happened to payments, invoices and subscriptions, each as it was then. The order " +
    "never changes: nothing ever appears before what was already read. To follow what happens " +
    "like a log, read `oldest_first`, and ask for the last page again for what has come since; " +
    "to hear of it at once, take the stream or a webhook. Events are deleted when they are " +
    "old; who comes back later than that goes on with the oldest that is left. For staff; " +
    "others get `forbidden`, and have the stream for what is their own.",
  tags: ["Events"],
  request: {
    query: z.object({
      name: oneOf(EventNameSchema.options).optional().openapi({
        description: "Only events of this name.",
        param: { examples: unsent("payment_settled") },
      }),
      resource_id: anId("Only events of the payment, invoice or subscription with this `id`."),
      order: oneOf(["newest_first", "oldest_first"]).default("newest_first").openapi({
        description: "Which of them to begin with.",
        param: { examples: unsent("oldest_first") },
      }),
      ...paging,
    }),
  },
  responses: {
    200: {
      description: "A page of events",
      headers: NEXT_PAGE,
      content: { "application/json": { schema: z.array(EventSchema), examples: EVENT_PAGE } },
    },
    ...problems("validation_error", "forbidden", ...OF_CALLERS),
  },
});

export function createEventRoutes(deps: PaymentDeps & { streams: EventStreams }): Router {
  const router = createRouter();
  router.openapi(eventsRoute, async (c) => {
    const { name, resource_id, order, limit, cursor } = c.req.valid("query");
    const { events, next } = await listEvents(deps, callerOf(c), {
      name: name ?? null,
      resourceId: resource_id ?? null,
      order,
      limit,
      before: cursor ?? null,
    });
    const query = { name, resource_id, order, limit };
    return c.json(events, 200, linkHeader(basePathOf(c, path) + path, query, next));
  });
  addStream(router, deps.streams);
  return router;
}
