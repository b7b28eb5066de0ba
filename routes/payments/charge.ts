/** `POST /charge/`: creates a payment of any type. */

import { createRoute } from "@hono/zod-openapi";
import { createCharge } from "../../core/payments/charge.ts";
import { CHARGE_EXAMPLES } from "../../core/payments/charge_examples.ts";
import { ChargeSchema } from "../../core/payments/charge_input.ts";
import { enqueueCharge } from "../../core/payments/process_charge_async.ts";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { forCaller } from "../../core/payments/views.ts";
import { QUEUED_JOBS } from "../jobs/examples.ts";
import { CHARGED } from "../../core/payments/examples.ts";
import {
  fingerprintRequest,
  REPLAY_HEADER,
  replayHeader,
  requestKeyOf,
} from "../../http/idempotency.ts";
import { basePathOf, locationHeader } from "../../http/paths.ts";
import { accepted, AsyncHeaders, asyncResponse, prefersAsync } from "../jobs/prefer.ts";
import {
  CHANGE_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";

const path = "/charge/";

/** Each request has the same name as the example of its response. */
const REQUESTS = {
  pending_virtual_account: CHARGE_EXAMPLES.bank_transfer,
  pending_card: CHARGE_EXAMPLES.credit_card,
  pending_bill: CHARGE_EXAMPLES.echannel,
  pending_gopay: CHARGE_EXAMPLES.gopay,
  pending_shopeepay: CHARGE_EXAMPLES.shopeepay,
  pending_ovo: CHARGE_EXAMPLES.ovo,
  pending_dana: CHARGE_EXAMPLES.dana,
  pending_qris: CHARGE_EXAMPLES.qris,
  pending_store: CHARGE_EXAMPLES.cstore,
  pending_akulaku: CHARGE_EXAMPLES.akulaku,
  pending_kredivo: CHARGE_EXAMPLES.kredivo,
} satisfies Partial<Record<keyof typeof CHARGED, unknown>>;

const chargeRoute = createRoute({
  method: "post",
  path,
  operationId: "createCharge",
  summary: "Create a charge",
  description:
    "Creates a payment at the gateway and returns what the customer needs to pay it: a virtual " +
    "account number, bill key, payment code, QR code or redirect URL. Most payments are " +
    "`pending` at first and are paid minutes or days later; a card payment can complete " +
    "immediately. A declined card is not an API error: the response is 201 with " +
    '`transaction_status: "deny"`.\n\n' +
    "Send an `Idempotency-Key`. The payment is stored before the gateway is called, and errors " +
    "after that point include its `payment_id`. If `outcome` is `refused`, nothing was charged: " +
    "fix the cause, and send the request with a new key. If `outcome` is `unknown` " +
    "(`gateway_timeout`, `gateway_unreachable`, `gateway_error`), the charge may have " +
    "succeeded: read the payment, or resend the same request with the same key, which never " +
    "charges twice. `duplicate_order` means that the `order_id` is already in use: look up that " +
    "payment (`GET /payments/?order_id=…`) before you send another id.\n\n" +
    "With `Prefer: respond-async` a background job performs the charge, and its `result` " +
    "contains the payment. A card token is stored encrypted until the job ends, then erased. If " +
    "the job fails with an unknown outcome, resend the same request with the same key to run it " +
    "again.",
  tags: ["Charges"],
  request: {
    headers: AsyncHeaders,
    body: {
      required: true,
      content: { "application/json": { schema: ChargeSchema, examples: REQUESTS } },
    },
  },
  responses: {
    201: {
      description: "The payment",
      headers: {
        ...locationHeader("payment", "/payments/"),
        ...REPLAY_HEADER,
      },
      content: { "application/json": { schema: PaymentSchema, examples: CHARGED } },
    },
    ...asyncResponse({ queued_charge: QUEUED_JOBS.queued_charge }),
    ...problems("duplicate_order", ...KEYED_BODY_ERRORS, ...GATEWAY_ERRORS, ...CHANGE_ERRORS),
  },
});

export function createChargeRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(chargeRoute, async (c) => {
    const input = c.req.valid("json");
    const headers = c.req.valid("header");
    const scope = `POST ${path}`;
    if (prefersAsync(headers)) {
      const key = headers["Idempotency-Key"] ?? null;
      const request = { key, ...fingerprintRequest(scope, input) };
      return accepted(c, path, await enqueueCharge(service, callerOf(c), input, request));
    }
    const requestKey = requestKeyOf(headers, scope, input);
    const { body, isReplayed } = await createCharge(service, callerOf(c), input, requestKey);
    const Location = `${basePathOf(c, path)}/payments/${body.id}/`;
    return c.json(forCaller(service, callerOf(c), body), 201, {
      Location,
      ...replayHeader(isReplayed),
    });
  });
  return router;
}
