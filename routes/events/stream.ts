/** `GET /events/stream/`: server-sent events. */

import { createRoute, z } from "@hono/zod-openapi";
import type { EventStreams } from "../../core/events/streams.ts";
import { list, oneOf } from "../../core/fields/input.ts";
import { unsentExample } from "../../openapi/components.ts";
import { EventNameSchema } from "../../core/events/names.ts";
import { EVENTS } from "./examples.ts";
import { EventSchema } from "./schemas.ts";
import { optionalId } from "../../http/paths.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import type { Router } from "../../http/router.ts";
import { sendStream } from "../../http/event_stream.ts";

const EXAMPLE = `retry: 1000

id: 0197a3c1-1d3b-7a52-8e6f-4b9c2d7a1e08

id: 0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5
event: payment_settled
data: {"id":"0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5","name":"payment_settled",…}

:

`;

const streamRoute = createRoute({
  method: "get",
  path: "/events/stream/",
  operationId: "streamEvents",
  summary: "Stream events",
  description:
    "Sends events of your payments, invoices and subscriptions as server-sent events in real " +
    "time; staff and viewers receive the events of all users and of webhook endpoints. The order " +
    "is the same as in `GET /events/`.\n\n" +
    "The stream starts with new events. Its first message has only an `id`, so that you can " +
    "resume even if the connection breaks before the first event. To resume, send the last `id` " +
    "as `Last-Event-ID`, which client libraries for server-sent events do automatically: the " +
    "stream continues right after that event, without gaps or duplicates. If the event was " +
    "deleted after the retention period, the stream continues with the oldest remaining " +
    "event. The error `unknown_event` means that you cannot resume: the event is not one of yours, " +
    "or the service's database was restored from a backup that does not contain it. Read the " +
    "current state of your payments, and connect without `Last-Event-ID`.\n\n" +
    "Expect disconnects. The stream ends after about 15 minutes, so that your credential is " +
    "checked when you reconnect. It also ends when the service restarts, when you read too " +
    "slowly, and within 5 seconds after your API key is revoked. The service sends a comment every " +
    "15 seconds; if you receive nothing for a minute, reconnect. Opening a stream counts as one " +
    "request towards the rate limit. The error `rate_limited` means that you sent too many " +
    "requests, that you have too many open streams on one instance (by default 100), or that all " +
    "callers together have too many there (by default 1,000). For an unknown event name, the error " +
    "is `validation_error`.",
  tags: ["Events"],
  request: {
    query: z.object({
      name: z.preprocess(
        (sent) => typeof sent === "string" ? [sent] : sent,
        list(oneOf(EventNameSchema.options), 100).optional(),
      ).openapi({
        type: "array",
        items: { $ref: "#/components/schemas/EventName" },
        description: "Send only events with this name. Repeat the parameter for several names.",
        param: { examples: unsentExample(["payment_settled"]) },
      }),
      resource_id: optionalId(
        "Send only events of the payment, invoice, subscription or webhook endpoint with this `id`.",
      ),
    }),
    headers: z.object({
      "Last-Event-ID": optionalId(
        "The `id` of the last event that you received. The stream continues after it.",
      ),
    }),
  },
  responses: {
    200: {
      description:
        "A stream of server-sent events. `id` is the event id, `event` the event name, and " +
        "`data` the event as one line of JSON, as in `GET /events/`. The schema and the example " +
        "are those of `data`. The response itself looks like this:\n\n```\n" +
        `${EXAMPLE}\`\`\``,
      content: {
        "text/event-stream": {
          // Client generators expect the type of a single event here.
          schema: EventSchema,
          examples: { payment_settled: EVENTS.payment_settled },
        },
      },
    },
    ...problems("unknown_event", ...COMMON_ERRORS),
  },
});

export function addStream(router: Router, streams: EventStreams): void {
  router.openapi(streamRoute, async (c) => {
    const { name, resource_id } = c.req.valid("query");
    const after = c.req.valid("header")["Last-Event-ID"];
    return await sendStream(c, streams, {
      names: name ?? null,
      resourceId: resource_id ?? null,
      after: after ?? null,
    });
  });
}
