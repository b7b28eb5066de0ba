/** `/checkouts/…`: creates, lists, reads and cancels checkouts. */

import { createRoute, z } from "@hono/zod-openapi";
import { cancelCheckout } from "../../core/checkouts/cancel.ts";
import { createCheckout } from "../../core/checkouts/create.ts";
import { checkoutUrl, presentCheckout, readCheckout } from "../../core/checkouts/read.ts";
import { CheckoutInputSchema, CheckoutSchema } from "../../core/checkouts/schema.ts";
import type { Service } from "../../core/service.ts";
import { actionRequest, emptyBody, optionalBody } from "../../http/action.ts";
import {
  IdempotencyHeaders,
  REPLAY_HEADER,
  replayHeader,
  requestKeyOf,
} from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { CheckoutListQuery, readCheckoutPage } from "../../http/lists/checkouts.ts";
import { filteredLinkHeader, NEXT_PAGE } from "../../http/lists/page.ts";
import { basePathOf, locationHeader, parsePathId, pathId } from "../../http/paths.ts";
import {
  ACTION_ERRORS,
  COMMON_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import { CHECKOUT_PAGE, CHECKOUT_REQUESTS, CHECKOUTS, CREATED_CHECKOUTS } from "./examples.ts";

const path = "/checkouts/";

const CheckoutPath = z.object({ pk: pathId("The checkout's `id`.") });

const createCheckoutRoute = createRoute({
  method: "post",
  path,
  operationId: "createCheckout",
  summary: "Create a checkout",
  description: "Creates an order and a page where the customer pays it: send the customer to " +
    "`checkout_url`. The page offers the methods, shows what to do, and returns the customer to " +
    "`finish_url`. Ship when you receive the event `checkout_completed`, not when the customer " +
    "returns.\n\n" +
    "The customer can change the method until the order is paid, and at most one attempt can be " +
    "paid at any moment. The order id, and the same id with `~2` to `~10`, are reserved for the " +
    "attempts: if one of them is in use, the error is `duplicate_order`. If the setting " +
    "`PUBLIC_URL` is missing, the error is `unavailable`, with the name of the setting.",
  tags: ["Checkouts"],
  request: {
    headers: IdempotencyHeaders,
    body: {
      required: true,
      content: { "application/json": { schema: CheckoutInputSchema, examples: CHECKOUT_REQUESTS } },
    },
  },
  responses: {
    201: {
      description: "The checkout",
      headers: { ...locationHeader("checkout", path), ...REPLAY_HEADER },
      content: {
        "application/json": { schema: CheckoutSchema, examples: CREATED_CHECKOUTS },
      },
    },
    ...problems("forbidden", "duplicate_order", ...KEYED_BODY_ERRORS, ...COMMON_ERRORS),
  },
});

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listCheckouts",
  summary: "List checkouts",
  description:
    "Returns your checkouts, newest first, without their links; staff and viewers see the " +
    "checkouts of all users. Follow `Link` for the next page until it is absent; new checkouts do " +
    "not shift later pages. If a filter, `limit` or `cursor` is invalid, the error is " +
    "`validation_error`, and `errors` names the parameter.",
  tags: ["Checkouts"],
  request: { query: CheckoutListQuery },
  responses: {
    200: {
      description: "A page of checkouts",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(CheckoutSchema), examples: CHECKOUT_PAGE },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

const readRoute = createRoute({
  method: "get",
  path: "/checkouts/{pk}/",
  operationId: "getCheckout",
  summary: "Get a checkout",
  description:
    "Returns the checkout with its link, its attempts and the payment that paid it. The link " +
    "leads nowhere 30 days after the checkout has ended. For a checkout of another user, the " +
    "error is `not_found`.",
  tags: ["Checkouts"],
  request: { params: CheckoutPath },
  responses: {
    200: {
      description: "The checkout",
      content: { "application/json": { schema: CheckoutSchema, examples: CHECKOUTS } },
    },
    ...problems("not_found", ...COMMON_ERRORS),
  },
});

const cancelRoute = createRoute({
  method: "post",
  path: "/checkouts/{pk}/cancel/",
  operationId: "cancelCheckout",
  summary: "Cancel a checkout",
  description:
    "Closes the customer's attempt at the gateway, and ends the checkout: it can no longer be " +
    "paid. If the gateway has not confirmed that yet, the error is `invalid_state` with " +
    "`Retry-After`: retry. If the checkout was paid or has expired, the error is `invalid_state` " +
    "with the `checkout_status`; to return the money, refund the payment.",
  tags: ["Checkouts"],
  middleware: [optionalBody],
  request: actionRequest(CheckoutPath, emptyBody("cancelled_checkout")),
  responses: {
    200: {
      description: "The cancelled checkout",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: CheckoutSchema,
          examples: { cancelled_checkout: CHECKOUTS.cancelled_checkout },
        },
      },
    },
    ...problems(...ACTION_ERRORS),
  },
});

export function createCheckoutRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(createCheckoutRoute, async (c) => {
    const input = c.req.valid("json");
    const requestKey = requestKeyOf(c.req.valid("header"), `POST ${path}`, input);
    const { body, isReplayed } = await createCheckout(service, callerOf(c), input, requestKey);
    const Location = `${basePathOf(c, path)}${path}${body.id}/`;
    const checkout_url = checkoutUrl(service, body.id);
    return c.json({ ...body, checkout_url }, 201, { Location, ...replayHeader(isReplayed) });
  });
  router.openapi(listRoute, async (c) => {
    const { cursor: _, ...query } = c.req.valid("query");
    const page = await readCheckoutPage(service, callerOf(c), c.req.valid("query"));
    const link = filteredLinkHeader(basePathOf(c, path) + path, query, page.next);
    return c.json(page.checkouts, 200, link);
  });
  router.openapi(readRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await readCheckout(service, callerOf(c), id), 200);
  });
  router.openapi(
    cancelRoute,
    keepReply(service, async (c) => {
      const id = parsePathId(c.req.valid("param").pk);
      const checkout = await cancelCheckout(service, callerOf(c), id);
      return c.json(await presentCheckout(service, callerOf(c), checkout), 200);
    }),
  );
  return router;
}
