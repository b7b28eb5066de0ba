/** `/timelines/…`: what happened to a payment, an invoice or a subscription. */

import { createRoute, z } from "@hono/zod-openapi";
import type { Examples } from "../../core/fields/response.ts";
import { readTimeline, type TimelineEntry } from "../../core/reports/timelines.ts";
import { parsePathId, pathId } from "../../http/paths.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import { TimelineSchema } from "./schemas.ts";

type Timeline = z.output<typeof TimelineSchema>;

const PAYMENT_ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";
const NOTIFICATION_ID = "0197a3c5-90e4-7f28-8b6a-3d1c5e7f9a02";

const EMPTY = { transition: null, refund: null, notification: null, event: null };

/** A transition of the payment, or of another record if `payment_id` is null. */
function transitionEntry(
  at: string,
  payment_id: string | null,
  transition: NonNullable<TimelineEntry["transition"]>,
): TimelineEntry {
  return { at, type: "transition", payment_id, ...EMPTY, transition };
}

const ACTOR = { actor: "api_key:gk_Zr4kQ2mW", actor_name: "shop backend" };

const CREATED = transitionEntry("2026-03-05T04:12:09.114Z", PAYMENT_ID, {
  from_status: null,
  to_status: "pending",
  fraud_status: null,
  source: "charge",
  ...ACTOR,
});

const PAID: TimelineEntry[] = [
  {
    at: "2026-03-05T04:15:40.856Z",
    type: "notification",
    payment_id: PAYMENT_ID,
    ...EMPTY,
    notification: {
      id: NOTIFICATION_ID,
      transaction_status: "settlement",
      status: "processed",
      error_message: null,
    },
  },
  transitionEntry("2026-03-05T04:15:40.871Z", PAYMENT_ID, {
    from_status: "pending",
    to_status: "settlement",
    fraud_status: "accept",
    source: "notification",
    actor: `notification:${NOTIFICATION_ID}`,
    actor_name: null,
  }),
  {
    at: "2026-03-05T04:15:40.871Z",
    type: "event",
    payment_id: PAYMENT_ID,
    ...EMPTY,
    event: {
      id: "0197a3c5-90f7-7a31-9d20-5e8b1c4f6a03",
      name: "payment_settled",
      sequence: 2,
      deliveries: [{
        endpoint_id: "0197a3b0-4c1d-7e52-9b3a-6f8d0c2e4a71",
        endpoint_host: "shop.example",
        status: "delivered",
        attempts: 1,
        status_code: 200,
        error: null,
        last_attempt_at: "2026-03-05T04:15:41.120Z",
        next_attempt_at: null,
        delivered_at: "2026-03-05T04:15:41.120Z",
      }],
    },
  },
];

const EXAMPLES = {
  payment: {
    paid_payment: {
      summary: "A payment that was created and paid, as staff see it",
      value: {
        resource: "payment",
        id: PAYMENT_ID,
        is_complete: true,
        entries: [CREATED, ...PAID],
      },
    },
  },
  invoice: {
    created_invoice: {
      summary: "An invoice that was created and is not paid yet, as staff see it",
      value: created("invoice", "sent"),
    },
  },
  subscription: {
    created_subscription: {
      summary: "A subscription that was created and not charged yet, as staff see it",
      value: created("subscription", "active"),
    },
  },
  checkout: {
    created_checkout: {
      summary: "A checkout that was created and is not paid yet, as staff see it",
      value: {
        resource: "checkout",
        id: PAYMENT_ID,
        is_complete: true,
        entries: [
          transitionEntry("2026-03-05T04:12:09.114Z", null, {
            from_status: null,
            to_status: "open",
            fraud_status: null,
            source: "create",
            ...ACTOR,
          }),
        ],
      },
    },
  },
} satisfies Record<Timeline["resource"], Examples<Timeline>>;

function created(resource: "invoice" | "subscription", status: string): Timeline {
  const entry = (at: string, from_status: string | null, to_status: string) =>
    transitionEntry(at, null, {
      from_status,
      to_status,
      fraud_status: null,
      source: "create",
      ...ACTOR,
    });
  return {
    resource,
    id: PAYMENT_ID,
    is_complete: true,
    entries: [
      entry("2026-03-05T04:12:09.114Z", null, "pending"),
      entry("2026-03-05T04:12:09.482Z", "pending", status),
    ],
  };
}

const INCLUDED = "transitions with their source (and, for staff and viewers, who caused them), " +
  "refunds, notifications from the gateway with their result, and events with their deliveries";

const DESCRIPTIONS = {
  payment: `Returns what happened to the payment, oldest first: ${INCLUDED}.`,
  invoice: `Returns what happened to the invoice and its payments, oldest first: ${INCLUDED}.`,
  checkout: `Returns what happened to the checkout and its payments, oldest first: ${INCLUDED}.`,
  subscription:
    `Returns what happened to the subscription and its payments, oldest first: ${INCLUDED}.`,
};

const NAMES = {
  payment: "Payment",
  invoice: "Invoice",
  subscription: "Subscription",
  checkout: "Checkout",
};

function timelineRoute(resource: Timeline["resource"]) {
  return createRoute({
    method: "get",
    path: `/timelines/${resource}s/{pk}/`,
    operationId: `get${NAMES[resource]}Timeline`,
    summary: `Get the timeline of ${resource === "invoice" ? "an" : "a"} ${resource}`,
    description: `${DESCRIPTIONS[resource]} Use it to find out why the ${resource} is in its ` +
      "state. Notifications and events are deleted after their retention period. If the " +
      `${resource} belongs to another user, the error is \`not_found\`.`,
    tags: ["Timelines"],
    request: { params: z.object({ pk: pathId(`The ${resource}'s \`id\`.`) }) },
    responses: {
      200: {
        description: "The timeline",
        content: {
          "application/json": { schema: TimelineSchema, examples: EXAMPLES[resource] },
        },
      },
      ...problems("not_found", ...COMMON_ERRORS),
    },
  });
}

export function createTimelineRoutes(service: Service): Router {
  const router = createRouter();
  for (const resource of ["payment", "invoice", "subscription", "checkout"] as const) {
    router.openapi(timelineRoute(resource), async (c) => {
      const id = parsePathId(c.req.valid("param").pk);
      return c.json(await readTimeline(service, callerOf(c), resource, id), 200);
    });
  }
  return router;
}
