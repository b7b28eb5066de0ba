/** Asks the gateway about what a notification told, and takes over what it says. */

import { validate as isUuid } from "uuid";
import { batched } from "../../db/batched.ts";
import type { GatewayNotification } from "../../db/notifications.ts";
import { paymentLookups } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import type { Transaction } from "../gateway/answers.ts";
import { meansUnknown } from "../gateway/errors.ts";
import { lookAtInvoiceOfOrder } from "../invoices/link.ts";
import type { PaymentDeps } from "../payments/deps.ts";
import { endNotification, hear, type Heard } from "../payments/gate.ts";
import { isOurs } from "../payments/recognize.ts";
import { refresh } from "../payments/refresh.ts";
import { canBeTakenOver, takeOver } from "../payments/take_over.ts";
import { lookAtNamesakes } from "../subscriptions/namesakes.ts";
import { linkOf } from "./link.ts";
import { note } from "./note.ts";

const SOURCE = "notification";

/** Throws a `GatewayError` where the gateway says nothing of use; then nothing is written. */
export async function confirmNotification(
  deps: PaymentDeps,
  notification: GatewayNotification,
): Promise<GatewayNotification> {
  const payment = await findTold(deps, notification);
  if (payment) {
    const { heard } = await refresh(deps, payment, SOURCE, notification);
    if (heard) return await noteHeard(deps, notification, heard);
  }
  return await takeOverTold(deps, notification, payment);
}

/** The payment that it is about, as far as can be told by its ids. */
export async function findTold(
  { database }: PaymentDeps,
  { order_id, transaction_id, raw_payload }: GatewayNotification,
): Promise<GatewayPayment | null> {
  const metadata = raw_payload.metadata as { payment_ref?: unknown } | null | undefined;
  const ref = metadata?.payment_ref;
  const payment_ref = typeof ref === "string" && isUuid(ref) ? ref : null;
  return await batched(database, paymentLookups, { order_id, transaction_id, payment_ref });
}

/** What changed a payment is written down already, together with the change. */
export async function noteHeard(
  deps: PaymentDeps,
  notification: GatewayNotification,
  { payment, step, isNoted }: Heard,
): Promise<GatewayNotification> {
  const ended = endNotification(notification, payment, step);
  return isNoted ? ended : await note(deps, ended);
}

/**
 * A transaction that is not to be found by its order: of a payment that waits for its first answer
 * (G§3.11), or of none of ours. It was made by a link then, by a subscription, by somebody else.
 */
async function takeOverTold(
  deps: PaymentDeps,
  notification: GatewayNotification,
  waiting: GatewayPayment | null,
): Promise<GatewayNotification> {
  const answer = await lookUp(deps, notification);
  if (!answer || !isAsTold(notification, answer)) {
    const error_message = answer && "The gateway has this transaction otherwise than was told.";
    return await note(deps, { ...notification, status: "unmatched", error_message });
  }
  const hearing = { answer, source: SOURCE, notification } as const;
  if (waiting?.transaction_id === null && isOurs(waiting, answer)) {
    const heard = await hear(deps, waiting, { ...hearing, askedAt: waiting.version });
    return await noteHeard(deps, notification, heard);
  }
  const heard = await takeOver(deps, hearing, await linkOf(deps, answer));
  await lookAtInvoiceOfOrder(deps, heard.payment);
  await lookAtNamesakes(deps, heard.payment);
  return await noteHeard(deps, notification, heard);
}

/** Null: the gateway knows nothing of it. */
async function lookUp(
  { gateway }: PaymentDeps,
  { transaction_id, order_id }: GatewayNotification,
): Promise<Transaction | null> {
  try {
    return (await gateway.getStatus(transaction_id ?? order_id)).body;
  } catch (error) {
    if (meansUnknown(error)) return null;
    throw error;
  }
}

/** The order id is all that is signed of the two. */
function isAsTold(
  { order_id, transaction_id }: GatewayNotification,
  answer: Transaction,
): boolean {
  return answer.order_id === order_id && canBeTakenOver(answer) &&
    answer.transaction_id === (transaction_id ?? answer.transaction_id);
}
