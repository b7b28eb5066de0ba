/** `POST /notification/`: where the gateway tells what happened to a transaction. */

import { createRoute, type z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AddressList } from "../../core/address_list.ts";
import { type ErrorCode, ServiceError } from "../../core/errors.ts";
import type { NotificationDeps } from "../../core/notifications/deps.ts";
import { receiveNotification } from "../../core/notifications/receive.ts";
import { countRefusedNotification } from "../../core/telemetry.ts";
import { clientAddress, type RateLimit } from "../middleware/rate_limit.ts";
import { problems } from "../shared/problem_responses.ts";
import { type AppEnv, createRouter, type Router } from "../shared/router.ts";
import { RECEIPTS } from "./examples.ts";
import { MESSAGE } from "./message.ts";
import { NotificationReceiptSchema } from "./schemas.ts";

/** What a call is refused with that is none of the gateway's. */
const REFUSALS = [
  "signature_invalid",
  "validation_error",
  "malformed_json",
] as const satisfies ErrorCode[];

const receiveRoute = createRoute({
  method: "post",
  path: "/notification/",
  operationId: "receiveNotification",
  summary: "Receive a notification of the gateway",
  description:
    "For the gateway, not for you: set its notification address to this one. What it sends is " +
    "signed with the server key, recorded, and brought to the payment it is about; where the " +
    "signature does not tell enough, the gateway is asked before anything is believed. What " +
    "comes twice, too late, or about nothing that is known here is taken as well, so that the " +
    "gateway stops repeating it: `GET /notifications/` says what came of each.\n\n" +
    "A wrong signature is `signature_invalid` and most often means that the service has " +
    "another server key than the gateway account. A call with a good signature is never " +
    "limited; too many others from one address are (`rate_limited`). The gateway repeats what " +
    "is not answered with 2xx.",
  tags: ["Notifications"],
  security: [],
  request: MESSAGE,
  responses: {
    200: {
      description: "It was taken, whatever came of it",
      content: { "application/json": { schema: NotificationReceiptSchema, examples: RECEIPTS } },
    },
    ...problems(
      ...REFUSALS,
      "payload_too_large",
      "unsupported_media_type",
      "rate_limited",
      "unavailable",
    ),
  },
});

export interface NotificationRouteDeps extends NotificationDeps {
  limit: RateLimit;
  trustedProxies: AddressList | null;
}

export function createNotificationRoute(deps: NotificationRouteDeps): Router {
  const { limit, trustedProxies } = deps;
  const router = createRouter();
  // Documented by its schema, but not held to it: that would change the payload on its way.
  router.openAPIRegistry.registerPath(receiveRoute);
  router.post(receiveRoute.path, async (c) => {
    try {
      const { notificationId } = await receiveNotification(deps, await payloadOf(c));
      const receipt: Receipt = { status: "ok", notification_id: notificationId };
      return c.json(receipt, 200);
    } catch (thrown) {
      if (isRefusal(thrown)) {
        countRefusedNotification(thrown.code);
        limit(`address:${clientAddress(c, trustedProxies)}`);
      }
      throw thrown;
    }
  });
  return router;
}

type Receipt = z.output<typeof NotificationReceiptSchema>;

async function payloadOf(c: Context<AppEnv>): Promise<unknown> {
  const text = await c.req.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceError("malformed_json", { cause });
  }
}

function isRefusal(thrown: unknown): thrown is ServiceError {
  return thrown instanceof ServiceError && REFUSALS.some((code) => code === thrown.code);
}
