/** `receiveNotification`: what the gateway tells by itself; anybody may claim to be the gateway. */

import type { GatewayNotification } from "../../db/notifications.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { ServiceError } from "../errors.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { JsonObject } from "../gateway/json.ts";
import { hear } from "../payments/gate.ts";
import { takeHint } from "../subscriptions/hint.ts";
import { type Claim, readClaim } from "./claim.ts";
import { confirmNotification, findTold, noteHeard } from "./confirm.ts";
import type { NotificationDeps } from "./deps.ts";
import { judge } from "./judge.ts";
import { newNotification } from "./new_notification.ts";
import { note } from "./note.ts";
import { processingJob } from "./process_notification.ts";

/** The gateway waits for our answer, and wants it within 5 s. */
const PATIENCE_MS = 4_000;

export interface Receipt {
  /** Null: it was none to be kept. */
  notificationId: string | null;
}

export async function receiveNotification(
  deps: NotificationDeps,
  payload: unknown,
): Promise<Receipt> {
  const claim = readClaim(payload);
  if (!claim) {
    await takeHint(deps, payload as JsonObject);
    return { notificationId: null };
  }
  const { orderId, statusCode, grossAmount, signature } = claim;
  if (!deps.gateway.verifySignature(orderId, statusCode, grossAmount, signature)) {
    throw new ServiceError("signature_invalid");
  }
  const began = deps.clock();
  const notification = newNotification(claim, new Date(began));
  const payment = await findTold(deps, notification);
  const isSettled = payment !== null && await settle(deps, claim, notification, payment);
  if (!isSettled) await ask(deps, notification, began + PATIENCE_MS);
  return { notificationId: notification.id };
}

/** Ends it without asking the gateway; false where that has to be asked. */
async function settle(
  deps: NotificationDeps,
  claim: Claim,
  notification: GatewayNotification,
  payment: GatewayPayment,
): Promise<boolean> {
  const verdict = judge(payment, claim, deps.confirm);
  if (verdict === "ask") return false;
  if (verdict !== "believe") {
    await note(deps, { ...notification, status: verdict, payment_id: payment.id });
    return true;
  }
  const heard = await hear(deps, payment, {
    answer: claim.told,
    source: "notification",
    askedAt: null,
    notification,
    isBelieved: (current) => judge(current, claim, deps.confirm) !== "ask",
  });
  if (heard.isDoubted) return false;
  await noteHeard(deps, notification, heard);
  return true;
}

/** What the gateway does not say in time is left to a job. */
async function ask(
  deps: NotificationDeps,
  notification: GatewayNotification,
  until: number,
): Promise<void> {
  try {
    await confirmNotification({ ...deps, gateway: impatient(deps, until) }, notification);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const now = new Date(deps.clock());
    await note(deps, notification, [processingJob(notification, now)]);
  }
}

function impatient({ background, clock }: NotificationDeps, until: number): GatewayClient {
  const left = () => Math.max(until - clock(), 1);
  return {
    ...background,
    getStatus: (id) => background.getStatus(id, { deadlineMs: left() }),
    getInvoice: (id) => background.getInvoice(id, { deadlineMs: left() }),
  };
}
