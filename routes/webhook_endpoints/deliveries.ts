/** `/webhook-endpoints/{pk}/deliveries/`: lists and resends deliveries to an endpoint. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf } from "../../core/fields/input.ts";
import type { Service } from "../../core/service.ts";
import {
  DELIVERY_STATUSES,
  listWebhookDeliveries,
  resendWebhookDelivery,
} from "../../core/webhooks/deliveries.ts";
import { unsentExample } from "../../openapi/components.ts";
import { IdempotencyHeaders, REPLAY_HEADER } from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { linkHeader, NEXT_PAGE, paging } from "../../http/lists/page.ts";
import { basePathOf, parsePathId, pathId } from "../../http/paths.ts";
import {
  COMMON_ERRORS,
  EMPTY_BODY_ERRORS,
  KEY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, type Router } from "../../http/router.ts";
import { DELIVERIES, DELIVERY_PAGE } from "./examples.ts";
import { endpointId, WebhookDeliverySchema } from "./schemas.ts";

const path = "/webhook-endpoints/{pk}/deliveries/";

const listWebhookDeliveriesRoute = createRoute({
  method: "get",
  path,
  operationId: "listWebhookDeliveries",
  summary: "List deliveries to a webhook endpoint",
  description: "Returns pending, delivered and failed deliveries with the endpoint's response, " +
    "newest first. Use `status=failed` to find deliveries to resend after you have fixed your " +
    "receiver. Follow `Link` until it is absent. Staff and viewers only; other callers get " +
    "`forbidden`.",
  tags: ["Webhooks"],
  request: {
    params: z.object({ pk: endpointId }),
    query: z.object({
      status: oneOf(DELIVERY_STATUSES).optional().openapi({
        description: "Return only deliveries with this `status`.",
        param: { examples: unsentExample("failed") },
      }),
      ...paging,
    }),
  },
  responses: {
    200: {
      description: "A page of deliveries",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(WebhookDeliverySchema), examples: DELIVERY_PAGE },
      },
    },
    ...problems("forbidden", "not_found", ...COMMON_ERRORS),
  },
});

const resendWebhookDeliveryRoute = createRoute({
  method: "post",
  path: `${path}{delivery_id}/resend/`,
  operationId: "resendWebhookDelivery",
  summary: "Resend a delivery",
  description:
    "Sends the same event with the same `webhook-id` again, and resets its attempt count. " +
    "The event waits for the first four attempts of earlier pending events of the same " +
    "resource. Works " +
    "for pending, delivered and failed deliveries. Use it for events that your receiver accepted " +
    "and lost. For a delivery that was deleted after the retention period, the error is " +
    "`not_found`. No body is needed. Staff only; other callers get `forbidden`.",
  tags: ["Webhooks"],
  request: {
    params: z.object({ pk: endpointId, delivery_id: pathId("The delivery's `id`.") }),
    headers: IdempotencyHeaders,
  },
  responses: {
    202: {
      description: "The pending delivery",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: WebhookDeliverySchema, examples: DELIVERIES } },
    },
    ...problems("forbidden", "not_found", ...EMPTY_BODY_ERRORS, ...KEY_ERRORS, ...COMMON_ERRORS),
  },
});

export function addDeliveries(router: Router, service: Service): void {
  router.openapi(listWebhookDeliveriesRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const { status, limit, cursor } = c.req.valid("query");
    const options = { status: status ?? null, limit, before: cursor ?? null };
    const { deliveries, next } = await listWebhookDeliveries(service, callerOf(c), id, options);
    const routingPath = listWebhookDeliveriesRoute.getRoutingPath();
    const listPath = basePathOf(c, routingPath) + path.replace("{pk}", id);
    const link = linkHeader(listPath, { status, limit }, next);
    return c.json(deliveries, 200, link);
  });
  router.openapi(
    resendWebhookDeliveryRoute,
    keepReply(service, async (c) => {
      const { pk, delivery_id } = c.req.valid("param");
      const [endpointId, eventId] = [parsePathId(pk), parsePathId(delivery_id)];
      const delivery = await resendWebhookDelivery(service, callerOf(c), endpointId, eventId);
      return c.json(delivery, 202);
    }),
  );
}
