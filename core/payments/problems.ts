/** What went wrong with a payment, in words for the caller. */

import type { GatewayPayment } from "../../db/payments.ts";
import { createProblems } from "../records/problems.ts";

export const problems = createProblems<GatewayPayment>(
  ({ id, order_id }) => ({ payment_id: id, order_id }),
  ({ transaction_status }) => ({ transaction_status }),
);

export const { problemAbout, gatewayProblem, unexplained, invalidState, naming } = problems;

/** The charge was not answered, and the gateway does not know of it so far. */
export const notYetKnown = (payment: GatewayPayment) =>
  problems.notYetKnown(payment, "The gateway does not know of this charge yet; try again later.");
