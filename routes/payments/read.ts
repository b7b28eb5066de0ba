/** `GET /payments/{pk}/`: one payment. */

import { createRoute } from "@hono/zod-openapi";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { readPayment } from "../../core/payments/read.ts";
import { callerOf } from "../app_env.ts";
import { problems } from "../problem_answers.ts";
import type { Router } from "../router.ts";
import { OF_CALLERS } from "../codes.ts";
import { paymentIdOf, PaymentPath } from "./payment_id.ts";
import { PaymentSchema } from "./schemas.ts";

const readRoute = createRoute({
  method: "get",
  path: "/payments/{pk}/",
  operationId: "getPayment",
  summary: "Read a payment",
  description: "The payment as it is known here, without asking the gateway: the gateway reports " +
    "changes by itself. Somebody else's payment is 404, as if it did not exist.",
  tags: ["Payments"],
  request: { params: PaymentPath },
  responses: {
    200: {
      description: "The payment",
      content: { "application/json": { schema: PaymentSchema } },
    },
    ...problems("not_found", ...OF_CALLERS),
  },
});

export function addRead(router: Router, deps: PaymentDeps): void {
  router.openapi(readRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    return c.json(await readPayment(deps, callerOf(c), id), 200);
  });
}
