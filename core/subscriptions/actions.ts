/** `disableSubscription`, `enableSubscription`, `cancelSubscription` and `updateSubscription`. */

import type { GatewaySubscription } from "../../db/billing/subscriptions.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { GatewayOutcome } from "../gateway/errors.ts";
import type { GatewayResponse, Message } from "../gateway/responses.ts";
import type { RequestResult } from "../idempotency/keys.ts";
import { act, type Action, type ActionRequest } from "../records/act.ts";
import { changeRecord } from "../records/change.ts";
import type { KeyChange } from "../records/record.ts";
import type { Service } from "../service.ts";
import { applyAction } from "./apply_report.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import { allows, stateAfter, type SubscriptionAction } from "./states.ts";
import type { SubscriptionUpdate } from "./subscription_input.ts";
import { gatewayMetadata, problems, subscriptionKind } from "./subscription_record.ts";
import type { SubscriptionView } from "./views.ts";

type RequestedAction =
  | { name: SubscriptionAction }
  | { name: "update"; update: SubscriptionUpdate };

export async function disableSubscription(
  service: Service,
  request: ActionRequest,
): Promise<RequestResult<SubscriptionView>> {
  return await actOn(service, request, { name: "disable" });
}

export async function enableSubscription(
  service: Service,
  request: ActionRequest,
): Promise<RequestResult<SubscriptionView>> {
  return await actOn(service, request, { name: "enable" });
}

export async function cancelSubscription(
  service: Service,
  request: ActionRequest,
): Promise<RequestResult<SubscriptionView>> {
  return await actOn(service, request, { name: "cancel" });
}

/** Changes the name, amount, interval, token, retries or GoPay account for later cycles. */
export async function updateSubscription(
  service: Service,
  request: ActionRequest,
  update: SubscriptionUpdate,
): Promise<RequestResult<SubscriptionView>> {
  return await actOn(service, request, { name: "update", update });
}

async function actOn(
  service: Service,
  request: ActionRequest,
  action: RequestedAction,
): Promise<RequestResult<SubscriptionView>> {
  return await act(service, subscriptionKind, request, (asCaller) => actionWith(asCaller, action));
}

/**
 * Any action except an update is stored before the call, as the subscription's intent, and a task
 * repeats it until the gateway answers.
 */
function actionWith(
  service: Service,
  action: RequestedAction,
): Action<GatewaySubscription, Message> {
  const { name } = action;
  return {
    requireAllowed: (subscription) => requireAllowed(action, subscription),
    isDone: (subscription) => isDone(action, subscription),
    check: (subscription, outcome) => checkForAction(service, subscription, action, outcome),
    async prepare(subscription, isResumed) {
      if (subscription.gateway_subscription_id === null) {
        const detail = "The gateway has not confirmed this subscription yet. Retry later.";
        throw problems.notAtGatewayYet(subscription, detail);
      }
      if (isResumed || !omitsSentFields(action)) return subscription;
      return await checkForAction(service, subscription, action, "refused");
    },
    intent: name === "update" ? {} : { intent: name },
    mayHaveBeenSent: ({ intent }) => intent === name,
    call: (subscription) => callGateway(service.gateway, action, subscription),
    // For an update, 400 means that the input is invalid; for any other action, that the state does
    // not allow it.
    isWrongState: ({ statusCode }) => statusCode === "400" && name !== "update",
    async storeRefusal(subscription, before, key) {
      if (name === "update") return subscription;
      return await removeIntent(service, subscription, name, before.intent, key);
    },
    confirms: confirmsAction,
    apply: (subscription, _answer, key) =>
      name === "update"
        ? applyUpdate(service, subscription, action.update, key)
        : applyAction(service, subscription, name, key),
  };
}

/** Throws if the subscription's state does not allow the action. */
function requireAllowed(action: RequestedAction, subscription: GatewaySubscription): void {
  const { status, intent, gateway_subscription_id } = subscription;
  if (action.name === "update") {
    if (gateway_subscription_id !== null && status !== "cancelled") return;
    const detail = `A subscription with status ${status} cannot be changed.`;
    throw problems.invalidState(subscription, detail);
  }
  // A cancellation is final even before the gateway has answered it.
  const isBeingCancelled = intent === "cancel" && action.name !== "cancel";
  // An action that the gateway has not answered yet may be done already.
  const possible = [status, ...intent ? [stateAfter(intent)] : []];
  if (!isBeingCancelled && possible.some((each) => allows(each, action.name))) return;
  const state = isBeingCancelled ? "being cancelled" : status;
  const detail = `A subscription that is ${state} cannot be ${PAST_TENSE[action.name]}.`;
  throw problems.invalidState(subscription, detail);
}

const PAST_TENSE: Record<SubscriptionAction, string> = {
  disable: "disabled",
  enable: "enabled",
  cancel: "cancelled",
};

async function callGateway(
  gateway: GatewayClient,
  action: RequestedAction,
  subscription: GatewaySubscription,
): Promise<GatewayResponse<Message>> {
  if (action.name !== "update") return await callForAction(gateway, action.name, subscription);
  const id = subscription.gateway_subscription_id!;
  return await gateway.updateSubscription(id, updatePayload(action.update, subscription));
}

/** These calls are idempotent: sent twice, the action is done once. */
export async function callForAction(
  gateway: GatewayClient,
  action: SubscriptionAction,
  { gateway_subscription_id }: GatewaySubscription,
): Promise<GatewayResponse<Message>> {
  const operations = {
    disable: gateway.disableSubscription,
    enable: gateway.enableSubscription,
    cancel: gateway.cancelSubscription,
  };
  return await operations[action](gateway_subscription_id!);
}

/** Whether the gateway says that the action was done. Not every 2xx response does. */
export function confirmsAction({ statusCode, body }: GatewayResponse<Message>): boolean {
  return statusCode === "200" && body.status_message !== null;
}

/** Whether the subscription already is in the state that the action leads to. */
function isDone(action: RequestedAction, { status }: GatewaySubscription): boolean {
  // The gateway does not show whether the token was updated, so an update is sent again.
  return action.name !== "update" && status === stateAfter(action.name);
}

/** Checks the subscription. If the check fails, the error has the action's `outcome`. */
async function checkForAction(
  service: Service,
  subscription: GatewaySubscription,
  { name }: RequestedAction,
  outcome: GatewayOutcome,
): Promise<GatewaySubscription> {
  try {
    return (await checkAtGateway(service, subscription, name)).subscription;
  } catch (error) {
    throw problems.checkFailed(subscription, outcome, error);
  }
}

/**
 * The gateway refused the action, so it is not repeated. If it had replaced another action that the
 * gateway has not answered, that one is repeated.
 */
export async function removeIntent(
  service: Service,
  known: GatewaySubscription,
  action: SubscriptionAction,
  replaced: SubscriptionAction | null = null,
  key: KeyChange<GatewaySubscription> | null = null,
): Promise<GatewaySubscription> {
  const next = replaced === action ? null : replaced;
  return await changeRecord(
    service,
    subscriptionKind,
    known,
    ({ intent }) => intent === action ? { set: { intent: next }, key } : null,
  );
}

/**
 * Whether the update leaves out a field that the gateway requires. The gateway's current value is
 * then sent: the stored one may be outdated, for example after an unanswered update.
 */
function omitsSentFields(action: RequestedAction): boolean {
  if (action.name !== "update") return false;
  return action.update.name === undefined || action.update.amount === undefined;
}

async function applyUpdate(
  service: Service,
  subscription: GatewaySubscription,
  { name, amount, interval }: SubscriptionUpdate,
  key: KeyChange<GatewaySubscription> | null,
): Promise<GatewaySubscription> {
  return await changeRecord(service, subscriptionKind, subscription, (current) => ({
    set: {
      name: name ?? current.name,
      amount: amount ?? current.amount,
      interval: interval ?? current.interval,
    },
    key,
  }));
}

/** The gateway's request body for an update. */
function updatePayload(
  { token, name, amount, interval, retry_schedule, gopay_account_id }: SubscriptionUpdate,
  subscription: GatewaySubscription,
): object {
  return {
    name: name ?? subscription.name,
    amount: String(amount ?? subscription.amount),
    currency: subscription.currency,
    token,
    ...interval !== undefined && { schedule: { interval } },
    ...retry_schedule && { retry_schedule },
    ...gopay_account_id && { gopay: { account_id: gopay_account_id } },
    // The gateway may clear metadata that is left out, and a later check needs the reference.
    metadata: gatewayMetadata(subscription),
  };
}

export const SUBSCRIPTION_VERBS = {
  disable: disableSubscription,
  enable: enableSubscription,
  cancel: cancelSubscription,
};
