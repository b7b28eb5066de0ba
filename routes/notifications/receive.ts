/** `POST /notification/`: receives the gateway's notifications. */

import { createRoute, type z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AddressList } from "../../core/config/address_list.ts";
import { type ErrorCode, invalidField, ServiceError } from "../../core/errors.ts";
import { NOTIFICATION_PATH } from "../../core/gateway/notification_url.ts";
import { parseNotification, type SignedNotification } from "../../core/notifications/parse.ts";
import { receiveNotification } from "../../core/notifications/receive.ts";
import { isSelfTestOrder, withoutFiller } from "../../core/notifications/self_test.ts";
import type { Service } from "../../core/service.ts";
import { checkNotifiedSubscription } from "../../core/subscriptions/link.ts";
import { countRefusedNotification } from "../../core/telemetry/telemetry.ts";
import { DEFAULT_LIMITS, tooComplex } from "../../http/middleware/json_body.ts";
import { scanJson } from "../../http/middleware/json_text.ts";
import { clientAddress, type RateLimit } from "../../http/middleware/rate_limit.ts";
import { problems } from "../../http/problems/responses.ts";
import { type AppEnv, createRouter, type Router } from "../../http/router.ts";
import { PAYLOADS, RECEIPTS } from "./examples.ts";
import { NotificationPayloadSchema, NotificationReceiptSchema } from "./schemas.ts";

const REQUEST = {
  body: {
    required: true,
    content: { "application/json": { schema: NotificationPayloadSchema, examples: PAYLOADS } },
  },
};

/** Errors of requests that cannot be trusted; these count towards the rate limit. */
const REJECTIONS = [
  "signature_invalid",
  "validation_error",
  "malformed_json",
] as const satisfies ErrorCode[];

const receiveRoute = createRoute({
  method: "post",
  path: NOTIFICATION_PATH,
  operationId: "receiveNotification",
  summary: "Receive a gateway notification",
  description:
    "Called by the gateway, not by you: enter this URL as the notification URL in the gateway's " +
    "dashboard. The service verifies the signature, stores the notification and updates the " +
    "payment. If the signed fields do not prove the new status, it checks the transaction with the " +
    "gateway first. Duplicate, outdated and unmatched notifications are acknowledged, too, so " +
    "that the gateway stops resending them: `GET /notifications/` shows the result of each.\n\n" +
    "If the signature is invalid, the error is `signature_invalid`. The usual cause is that " +
    "`GATEWAY_SERVER_KEY` is not the server key of the gateway account that sent the " +
    "notification. Notifications with a valid signature are never rate limited; those with an " +
    "invalid signature, and those that the gateway does not sign, are limited per client address " +
    "(`rate_limited`). The gateway resends notifications that do not get a 2xx response.",
  tags: ["Notifications"],
  security: [],
  request: REQUEST,
  responses: {
    200: {
      description: "Received",
      content: { "application/json": { schema: NotificationReceiptSchema, examples: RECEIPTS } },
    },
    ...problems(
      ...REJECTIONS,
      "payload_too_large",
      "unsupported_media_type",
      "rate_limited",
      "unavailable",
    ),
  },
});

export function createReceiveRoute(
  service: Service,
  { limit, trustedProxies }: { limit: RateLimit; trustedProxies: AddressList | null },
): Router {
  const router = createRouter();
  // Not validated by its schema: `parseNotification` needs the payload exactly as received.
  router.openAPIRegistry.registerPath(receiveRoute);
  router.post(receiveRoute.path, async (c) => {
    const address = () => `address:${clientAddress(c, trustedProxies)}`;
    try {
      const received = parseNotification(await payloadOf(c), service.gateway);
      if (received.type === "signed") {
        const { id } = await receiveNotification(service, forStorage(received, c.req.raw.headers));
        return c.json<Receipt, 200>({ status: "ok", notification_id: id }, 200);
      }
      // Any client can send an unsigned notification, so a limit must protect the database.
      limit.count(address());
      await checkNotifiedSubscription(service, received.body);
      return c.json<Receipt, 200>({ status: "ok", notification_id: null }, 200);
    } catch (thrown) {
      if (isRejection(thrown)) {
        countRefusedNotification(thrown.code);
        limit.count(address());
      }
      throw thrown;
    }
  });
  return router;
}

/** For a self-test, stores which headers were lost, and the size of the body, instead of it. */
function forStorage(received: SignedNotification, headers: Headers): SignedNotification {
  if (!isSelfTestOrder(received.orderId)) return received;
  return { ...received, payload: withoutFiller(received.payload, headers) };
}

type Receipt = z.output<typeof NotificationReceiptSchema>;

async function payloadOf(c: Context<AppEnv>): Promise<unknown> {
  const text = await c.req.text();
  if (scanJson(text, DEFAULT_LIMITS).isTooComplex) {
    throw invalidField("body", tooComplex(DEFAULT_LIMITS));
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceError("malformed_json", { cause });
  }
}

function isRejection(thrown: unknown): thrown is ServiceError {
  return thrown instanceof ServiceError && REJECTIONS.some((code) => code === thrown.code);
}

/** Documents the same request as a webhook of the gateway, for callers who emulate the gateway. */
export function describeGatewayMessage({ openAPIRegistry }: Router): void {
  openAPIRegistry.registerWebhook({
    method: "post",
    path: "gateway_notification",
    operationId: "onGatewayNotification",
    summary: "gateway_notification",
    description:
      "Sent by the gateway to `POST /notification/` of this service when a transaction changes. " +
      "You only need it to emulate the gateway, for example in a test. It is authenticated by a " +
      "signature instead of a credential: `signature_key` is the hex SHA-512 of `order_id`, " +
      "`status_code` and `gross_amount`, exactly as they appear in the body, followed by the " +
      "server key. The example is signed with `SB-Mid-server-sandbox`, the sandbox's server " +
      "key.\n\n" +
      "The signature covers no other field. The service therefore applies a notification " +
      "directly only if the signed fields prove the new status, and otherwise checks the " +
      "transaction with the gateway. Notifications can be duplicated, delayed and out of order; " +
      "the payment still gets the correct status.",
    tags: ["Notifications"],
    security: [],
    request: REQUEST,
    responses: {
      200: { description: "Received; the gateway does not resend it." },
      "4XX": {
        description: "Rejected: invalid signature, invalid content, or too many notifications " +
          "without a valid signature.",
      },
      "5XX": { description: "Temporarily unavailable; the gateway resends it." },
    },
  });
}
