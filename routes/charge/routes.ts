/** `POST /charge/`: a new payment, of any type. */

import { createRoute } from "@hono/zod-openapi";
import { createCharge } from "../../core/payments/charge.ts";
import { askForCharge, type AsyncChargeDeps } from "../../core/payments/process_charge_async.ts";
import { JOBS } from "../schemas/job_examples.ts";
import { PaymentSchema } from "../schemas/payment.ts";
import { CHARGED } from "../schemas/payment_examples.ts";
import {
  fingerprintRequest,
  keyedAttempt,
  REPLAY_HEADER,
  replayHeader,
} from "../shared/idempotency.ts";
import { basePathOf, locationHeader } from "../shared/paths.ts";
import { accepted, AsyncHeaders, asyncResponse, prefersAsync } from "../shared/prefer.ts";
import {
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, createRouter, type Router } from "../shared/router.ts";
import { EXAMPLES } from "./examples.ts";
import { ChargeSchema } from "./schema.ts";

const path = "/charge/";

const chargeRoute = createRoute({
  method: "post",
  path,
  operationId: "createCharge",
  summary: "Create a charge",
  description:
    "Starts a payment at the gateway and answers with all that the customer needs to pay: a " +
    "virtual account, a bill key, a payment code, a QR code, a link. Most payments are " +
    "`pending` then and paid minutes or days later; a card can be paid at once. A bank that " +
    'says no is an answer too: 201 with `transaction_status: "deny"`.\n\n' +
    "Give it an `Idempotency-Key`. The payment is stored before the gateway is asked, and an " +
    "error that comes after that names it. With `outcome: refused` nothing happened: mend the " +
    "request and send it anew, with a new key. With `outcome: unknown` (`gateway_timeout`, " +
    "`gateway_unreachable`, `gateway_error`) the charge may have gone through: read the " +
    "payment at `payment_id`, or send the same request with the same key again, which never " +
    "makes a second one. `duplicate_order` means that the `order_id` was used before: look for " +
    "that payment (`GET /payments/?order_id=…`) before you take another id.\n\n" +
    "With `Prefer: respond-async` all that is done by a job, whose `result` holds the payment; " +
    "the token of a card waits encrypted, and is erased when the job ends. Where the job fails " +
    "with an unknown outcome, the same request with the same key has it run again.",
  tags: ["Charges"],
  request: {
    headers: AsyncHeaders,
    body: {
      required: true,
      content: { "application/json": { schema: ChargeSchema, examples: EXAMPLES } },
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
    ...asyncResponse({ queued_charge: JOBS.queued_charge }),
    ...problems("duplicate_order", ...KEYED_BODY_ERRORS, ...GATEWAY_ERRORS, ...COMMON_ERRORS),
  },
});

export function createChargeRoutes(deps: AsyncChargeDeps): Router {
  const router = createRouter();
  router.openapi(chargeRoute, async (c) => {
    const input = c.req.valid("json");
    const headers = c.req.valid("header");
    const scope = `POST ${path}`;
    if (prefersAsync(headers)) {
      const key = headers["Idempotency-Key"] ?? null;
      const request = { key, ...fingerprintRequest(scope, input) };
      return accepted(c, path, await askForCharge(deps, callerOf(c), input, request));
    }
    const attempt = keyedAttempt(headers, scope, input);
    const { body, isReplayed } = await createCharge(deps, callerOf(c), input, attempt);
    const Location = `${basePathOf(c, path)}/payments/${body.id}/`;
    return c.json(body, 201, { Location, ...replayHeader(isReplayed) });
  });
  return router;
}
