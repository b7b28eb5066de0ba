/** What the gateway sends, for the document's webhooks. */

import type { Router } from "../shared/router.ts";
import { PAYLOADS } from "./examples.ts";
import { NotificationPayloadSchema } from "./schemas.ts";

export const MESSAGE = {
  body: {
    required: true,
    content: { "application/json": { schema: NotificationPayloadSchema, examples: PAYLOADS } },
  },
};

/** As it looks from the gateway; `POST /notification/` is where it arrives. */
export function describeGatewayMessage({ openAPIRegistry }: Router): void {
  openAPIRegistry.registerWebhook({
    method: "post",
    path: "gateway_notification",
    operationId: "onGatewayNotification",
    summary: "gateway_notification",
    description:
      "What the gateway posts to `POST /notification/` of this service whenever a transaction " +
      "changes; you take part in it only where you stand in for the gateway, in a test for " +
      "instance. It bears no credential, but a signature: `signature_key` is the hex SHA-512 of " +
      "`order_id`, `status_code`, `gross_amount` and the server key, one after the other, each as " +
      "it stands in the body. The example is signed with `SB-Mid-server-sandbox`, the sandbox's " +
      "key.\n\n" +
      "The signature covers nothing else. So the service believes without asking only what fits " +
      "what it knows; all else it fetches from the gateway. Notifications come twice, late and in " +
      "the wrong order; all that is taken care of.",
    tags: ["Notifications"],
    security: [],
    request: MESSAGE,
    responses: {
      200: { description: "Taken: it is not sent again." },
      "4XX": { description: "It is not the gateway's, or nothing can be made of it." },
      "5XX": { description: "Not now: the gateway sends it again." },
    },
  });
}
