/** `GET /events/stream/`: what happens, told as it happens. */

import { createRoute, z } from "@hono/zod-openapi";
import { unsent } from "../../openapi/components.ts";
import type { EventStreams } from "../../core/events/streams.ts";
import { callerOf } from "../shared/request_context.ts";
import { OF_CALLERS } from "../shared/codes.ts";
import { anId, list, oneOf } from "../shared/fields.ts";
import { problems } from "../shared/problem_responses.ts";
import type { Router } from "../shared/router.ts";
import { EventNameSchema } from "../schemas/event_name.ts";

const EXAMPLE = `retry: 1000

id: 0197a3c1-1d3b-7a52-8e6f-4b9c2d7a1e08

id: 0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5
event: payment_settled
data: {"id":"0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5","name":"payment_settled",…}

:

`;

const HEADERS = {
  "Content-Type": "text/event-stream",
  // Whoever gathers or compresses it on the way keeps it from arriving.
  "Cache-Control": "no-store, no-transform",
  "X-Accel-Buffering": "no",
};

const streamRoute = createRoute({
  method: "get",
  path: "/events/stream/",
  operationId: "streamEvents",
  summary: "Follow events",
  description:
    "What happens to your payments, invoices and subscriptions, while it happens, as server-sent " +
    "events; staff hear of everybody's. The order is that of `GET /events/`.\n\n" +
    "It begins with what happens from now on, and with an `id` by itself, for who is cut off before " +
    "anything happens. After a break, send the last `id` as `Last-Event-ID`, as every client " +
    "library for server-sent events does by itself: the stream goes on right after it, and " +
    "nothing is missed or told twice. Where that event has been deleted for its age, it goes on " +
    "with the oldest that is left.\n\n" +
    "Count on breaks: the stream ends every quarter of an hour, so that your credential is looked " +
    "at again; when the service is restarted; and when you read more slowly than things happen. A " +
    "comment line comes every 15 seconds; a minute without one means that the connection is gone. " +
    "To open a stream counts as one request (`rate_limited`), and a name that no event has is " +
    "`validation_error`.",
  tags: ["Events"],
  request: {
    query: z.object({
      name: z.preprocess(
        (sent) => typeof sent === "string" ? [sent] : sent,
        list(oneOf(EventNameSchema.options), 100).optional(),
      ).openapi({
        type: "array",
        items: { $ref: "#/components/schemas/EventName" },
        description: "Only events of this name; give it several times for several names.",
        param: { examples: unsent(["payment_settled"]) },
      }),
      resource_id: anId("Only events of the payment, invoice or subscription with this `id`."),
    }),
    headers: z.object({
      "Last-Event-ID": anId(
        "The `id` of the last event that you have: go on with the one after it.",
      ),
    }),
  },
  responses: {
    200: {
      description: "Events without end. `id` is the event's id, `event` its name, and `data` the " +
        "event itself, in one line, as `GET /events/` has it (`Event`).",
      content: {
        "text/event-stream": {
          schema: z.string(),
          examples: { stream: { summary: "One event, and a sign of life", value: EXAMPLE } },
        },
      },
    },
    ...problems("validation_error", ...OF_CALLERS),
  },
});

export function addStream(router: Router, streams: EventStreams): void {
  router.openapi(streamRoute, async (c) => {
    const { name, resource_id } = c.req.valid("query");
    const after = c.req.valid("header")["Last-Event-ID"];
    // Of an answer without a body nobody would ever say that it is no longer read.
    if (c.req.method === "HEAD") {
      streams.admit();
      return new Response(null, { headers: HEADERS });
    }
    const body = await streams.open(callerOf(c), {
      names: name ?? null,
      resourceId: resource_id ?? null,
      after: after ?? null,
    });
    return new Response(body, { headers: HEADERS });
  });
}
