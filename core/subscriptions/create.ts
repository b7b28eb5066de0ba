/** `createSubscription`: creates a subscription at the gateway. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import { invalidField } from "../errors.ts";
import type { Permit } from "../gateway/circuit_breaker.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { GatewayResponse, Subscription } from "../gateway/responses.ts";
import { formatWib } from "../gateway/times.ts";
import { isKeyUsed, type RequestKey, type RequestResult } from "../idempotency/keys.ts";
import { newId } from "../ids.ts";
import { YEARS_RULE } from "../input_fields.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import {
  canResend,
  canStillSend,
  classifyFailure,
  type EarlierRecord,
  endWithoutAnswer,
  insertRecord,
  type RecordClaim,
  type RecordCreation,
} from "../records/create.ts";
import {
  endCreation,
  endWithUnknownOutcome,
  type KeyedRequest,
  keyWithError,
  keyWithReply,
  replyFromRecord,
} from "../records/keyed_request.ts";
import { actAs, type RecordDeps } from "../records/record.ts";
import { answersCreation, applyRefusal, applyReport } from "./apply_report.ts";
import type { SubscriptionInput } from "./subscription_input.ts";
import { gatewayMetadata, problems, subscriptionKind } from "./subscription_record.ts";
import { type SubscriptionView, viewSubscription } from "./views.ts";

/** For how long the gateway remembers the idempotency key of a creation. */
const RESEND_WINDOW_MS = 3 * 60_000;

export async function createSubscription(
  service: RecordDeps,
  caller: Caller,
  input: SubscriptionInput,
  requestKey: RequestKey | null,
): Promise<RequestResult<SubscriptionView>> {
  const deps = actAs(service, caller);
  await requireStartTime(deps, caller, input, requestKey);
  const claim = await claimSubscription(deps, caller, input, requestKey);
  if (claim.kind === "replay") return { body: claim.body, isReplayed: true };
  const { record: subscription, request } = claim;
  using probe = claim.kind === "new" ? claim.probe : null;
  const wasSentBefore = claim.kind === "resume";
  try {
    if (wasSentBefore && subscription.status !== "pending") {
      const body = await replyFromRecord(deps, subscriptionKind, request, subscription);
      return { body, isReplayed: false };
    }
    const canSend = wasSentBefore ? canResend : canStillSend;
    if (!canSend(subscription, RESEND_WINDOW_MS, deps.clock())) {
      throw await endWithoutAnswer(deps, subscriptionKind, request, subscription);
    }
    const sent = await sendSubscription(deps, input, request, subscription, {
      wasSentBefore,
      permit: probe,
    });
    return { body: viewSubscription(sent), isReplayed: false };
  } catch (error) {
    throw endCreation(deps, subscriptionKind, request, subscription, error);
  }
}

/**
 * Rejects a time after the year 9999 and, except in a retry with a used key, a past time: the retry
 * gets the stored reply.
 */
async function requireStartTime(
  deps: RecordDeps,
  caller: Caller,
  { start_time }: SubscriptionInput,
  requestKey: RequestKey | null,
): Promise<void> {
  if (start_time === undefined) return;
  // The gateway gets the time in Western Indonesia, where the year 10000 begins 7 hours earlier.
  if (!/^\d{4}-/.test(formatWib(start_time)) && start_time.getTime() > 0) {
    throw invalidField("start_time", YEARS_RULE);
  }
  if (start_time.getTime() > deps.clock()) return;
  if (requestKey && await isKeyUsed(deps, caller, requestKey)) return;
  throw invalidField("start_time", "must be in the future");
}

/**
 * Inserts the subscription, or finds the one that an earlier request with the same key inserted.
 */
async function claimSubscription(
  deps: RecordDeps,
  caller: Caller,
  input: SubscriptionInput,
  requestKey: RequestKey | null,
): Promise<RecordClaim<GatewaySubscription, SubscriptionView>> {
  let replaces: EarlierRecord<GatewaySubscription> | null = null;
  for (;;) {
    const record = newSubscription(input, caller.userId, new Date(deps.clock()));
    const insert: RecordCreation<GatewaySubscription> = { caller, requestKey, record, replaces };
    const inserted = await insertRecord(deps, subscriptionKind, insert);
    if (inserted.kind !== "resume") return inserted;
    const earlier: EarlierRecord<GatewaySubscription> | null = inserted.earlier;
    if (earlier?.record && earlier.record.status !== "failed") {
      return { kind: "resume", record: earlier.record, request: inserted.request };
    }
    replaces = earlier;
  }
}

/** Calls the gateway, classifies its response and applies it. */
async function sendSubscription(
  deps: RecordDeps,
  input: SubscriptionInput,
  request: KeyedRequest,
  subscription: GatewaySubscription,
  { wasSentBefore, permit }: { wasSentBefore: boolean; permit: Permit | null },
): Promise<GatewaySubscription> {
  let answer: GatewayResponse<Subscription>;
  try {
    const payload = subscriptionPayload(input, subscription);
    const options = { idempotencyKey: subscription.id, permit };
    answer = await deps.gateway.createSubscription(payload, options);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { kind, problem } = classifyFailure(subscriptionKind, subscription, error, wasSentBefore);
    if (kind === "unknown") {
      throw await endWithUnknownOutcome(deps, subscriptionKind, request, subscription, problem);
    }
    await applyRefusal(deps, subscription, keyWithError(request, problem, new Date(deps.clock())));
    throw problem;
  }
  if (!answersCreation(subscription, answer.body)) {
    const problem = problems.unclearAnswer(subscription, answer.statusCode);
    throw await endWithUnknownOutcome(deps, subscriptionKind, request, subscription, problem);
  }
  const key = keyWithReply(request, viewSubscription, new Date(deps.clock()));
  const askedAtVersion = subscription.version;
  const report = { answer: answer.body, source: "create", askedAtVersion, key } as const;
  return (await applyReport(deps, subscription, report)).subscription;
}

/** The card or account token is not part of the record. */
function newSubscription(
  input: SubscriptionInput,
  userId: string,
  now: Date,
): GatewaySubscription {
  const customer = input.customer_details;
  return {
    id: newId(now),
    user_id: userId,
    gateway_subscription_id: null,
    name: input.name,
    payment_type: input.payment_type,
    amount: input.amount,
    currency: "IDR",
    interval: input.interval,
    interval_unit: input.interval_unit,
    max_interval: input.max_interval ?? null,
    current_interval: 0,
    start_time: input.start_time ?? null,
    next_execution_at: null,
    status: "pending",
    intent: null,
    ended_at: null,
    customer_first_name: customer?.first_name ?? null,
    customer_last_name: customer?.last_name ?? null,
    customer_email: customer?.email ?? null,
    customer_phone: customer?.phone ?? null,
    metadata: input.metadata ?? null,
    sent_at: now,
    checked_at: null,
    check_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
    created_by: null,
    event_count: 0,
    version: 0,
    created_at: now,
    updated_at: now,
  };
}

/** The gateway's request body. */
function subscriptionPayload(
  input: SubscriptionInput,
  { id, currency }: GatewaySubscription,
): object {
  const { interval, interval_unit, max_interval, start_time, customer_details } = input;
  return {
    name: input.name,
    amount: String(input.amount),
    currency,
    payment_type: input.payment_type,
    token: input.token,
    schedule: {
      interval,
      interval_unit,
      ...max_interval !== undefined && { max_interval },
      ...start_time && { start_time: formatWib(start_time) },
    },
    ...input.retry_schedule && { retry_schedule: input.retry_schedule },
    metadata: gatewayMetadata({ id, metadata: input.metadata ?? null }),
    ...customer_details && { customer_details },
    ...input.gopay_account_id && { gopay: { account_id: input.gopay_account_id } },
  };
}
