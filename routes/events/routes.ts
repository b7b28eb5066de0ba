/** `/events/…`: lists and streams events. */

import { createRoute, z } from "@hono/zod-openapi";
import { listEvents } from "../../core/events/read.ts";
import type { EventStreams } from "../../core/events/streams.ts";
import { oneOf } from "../../core/fields/input.ts";
import type { EventOf } from "../../core/handlers/events.ts";
import { unsentExample } from "../../openapi/components.ts";
import { EVENT_NAMES } from "../../core/events/names.ts";
import { createdRange, severalOf } from "../../http/lists/filters.ts";
import { linkHeader, NEXT_PAGE, paging } from "../../http/lists/page.ts";
import { basePathOf, optionalId } from "../../http/paths.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
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
    "Returns events of payments, invoices, subscriptions and webhook endpoints, each with the " +
    "resource as it was at that time. The order is stable: a new event never appears between " +
    "events that you have read. To process all events in order, use `order=oldest_first`, " +
    "follow `Link` to the last page, and request that page again later to get new events. To " +
    "receive events immediately, use the event stream or a webhook. Events are deleted after " +
    "the retention period; with `order=oldest_first`, a cursor older than that continues with " +
    "the oldest remaining event. The error `unknown_event` means that the database was restored " +
    "from a backup that does not contain the cursor's event. Staff and viewers only; other callers get `forbidden` and can " +
    "use the stream for their own resources.",
  tags: ["Events"],
  request: {
    query: z.object({
      name: severalOf(
        EVENT_NAMES,
        "EventName",
        "Return only events with this name.",
        ["payment_settled"],
      ),
      resource_id: optionalId(
        "Return only events of the payment, invoice, subscription or webhook endpoint with this " +
          "`id`.",
      ),
      ...createdRange("events"),
      order: oneOf(["newest_first", "oldest_first"]).default("newest_first").openapi({
        description: "Sort order.",
        param: { examples: unsentExample("oldest_first") },
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
    ...problems("forbidden", "unknown_event", ...COMMON_ERRORS),
  },
});

export function createEventRoutes(
  service: Service & { streams: EventStreams },
): Router {
  const router = createRouter();
  router.openapi(eventsRoute, async (c) => {
    const { cursor, ...query } = c.req.valid("query");
    const { name, resource_id, ...filter } = query;
    const { events, next } = await listEvents(service, callerOf(c), {
      ...filter,
      names: name ?? null,
      resourceId: resource_id ?? null,
      after: cursor ?? null,
    });
    return c.json(events as EventOf[], 200, linkHeader(basePathOf(c, path) + path, query, next));
  });
  addStream(router, service.streams);
  return router;
}
