/** Runs a plan against the service and the gateway. */

import assert from "node:assert/strict";
import { ServiceError } from "../../../core/errors.ts";
import { GatewayError } from "../../../core/gateway/errors.ts";
import { PostponeJob } from "../../../core/jobs/task.ts";
import { confirmNotification } from "../../../core/notifications/receive.ts";
import { approvePayment, denyPayment } from "../../../core/payments/actions.ts";
import { checkPaymentStatus } from "../../../core/payments/check_payment_status.ts";
import { findNotification } from "../../../db/payments/notifications.ts";
import type { Hook, Json } from "../gateway/sandbox.ts";
import { chargeRequest } from "../payments/payments.ts";
import type { Mutation } from "./mutations.ts";
import {
  cardOf,
  extraFieldsOf,
  type Fault,
  type Instance,
  KIND_OPTIONS,
  partsOf,
  type Plan,
  type Step,
  stepsOf,
} from "./plan.ts";
import type { Simulation } from "./simulation.ts";

/** The result of a plan. */
export interface SimulationResult {
  plan: Plan;
  paymentId: string;
  orderId: string;
  /** The bodies of all notifications of the gateway, in order. */
  hooks: Json[];
  /** The ids of the notifications that the service accepted. */
  accepted: string[];
  /** The transaction at the gateway; null if there is none. */
  transaction: Json | null;
}

const CALLER = {
  userId: "alice",
  isStaff: false,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
} as const;

/** Only staff decide about challenged payments. */
const STAFF = { ...CALLER, userId: "carol", isStaff: true };

/** Longer than the time after which a charge unknown to the gateway fails (DANA: 25 hours). */
const UNKNOWN_CHARGE_FAILS_MS = 26 * 3_600_000;

export async function runPlan(
  simulation: Simulation,
  plan: Plan,
  orderId: string,
): Promise<SimulationResult> {
  const { sandbox, apps } = simulation;
  const accepted: string[] = [];
  let transactionId: string | null = null;
  const id = await charge();
  for (const step of plan.steps) await runStep(step, await hooksFor(step));
  await sync();
  const hooks = await simulation.hooks(orderId);
  if (plan.redeliveryOrder) {
    const keys = plan.redeliveryOrder;
    const deliveries = hooks.map((hook, index) => ({ hook, key: keys[index % keys.length]! }));
    deliveries.sort((one, other) => one.key - other.key);
    for (const { hook, key } of deliveries) await deliver(hook, key % 2 ? "a" : "b");
  }
  await finishNotifications();
  const transaction = transactionId && await sandbox.control(
    `transactions/${transactionId}`,
    undefined,
    "GET",
  );
  return {
    plan,
    paymentId: id,
    orderId,
    hooks: hooks.map(({ body }) => body),
    accepted,
    transaction,
  };

  async function charge(): Promise<string> {
    const { at, how, meanwhile } = plan.charge;
    const body = {
      ...await chargeRequest(sandbox, KIND_OPTIONS[plan.kind].charge, cardOf(plan.kind)),
      ...extraFieldsOf(plan.kind),
      order_id: orderId,
    };
    if (how === "delayed") {
      simulation.interceptOnce([orderId], async (pass) => {
        const answer = await pass();
        await findTransaction();
        for (const step of meanwhile) await runStep(step, await hooksFor(step));
        return answer;
      });
    } else if (how !== "answered") simulation.interceptOnce([orderId], failCall(how), "POST");
    const response = await simulation.post(at, "/charge/", body);
    const answer = await response.json();
    const isAnswered = how === "answered" || how === "delayed";
    assert.equal(response.status === 201, isAnswered, JSON.stringify(answer));
    await findTransaction();
    return answer.id ?? answer.payment_id;
  }

  async function findTransaction(): Promise<void> {
    const [hook] = await simulation.hooks(orderId);
    transactionId = hook?.body.transaction_id ?? null;
  }

  async function runStep(step: Step, hooks: Hook[]): Promise<void> {
    switch (step.do) {
      case "external":
        return await callGateway(
          `/_sandbox/transactions/${transactionId}/${step.action}`,
          step.body,
        );
      case "dashboard":
        return await actOnDashboard(step);
      case "call":
        return await call(step);
      case "review":
        return await review(step);
      case "task":
        return await check(step.at, simulation.clock);
      case "deliver": {
        const hook = hooks[Math.round(step.position * (hooks.length - 1))];
        if (hook) await deliver(hook, step.at, step.mutation);
        return;
      }
      case "concurrently":
        return void await Promise.all(step.steps.map((each) => runStep(each, hooks)));
      case "delayed":
        return await delayResponse(step, hooks);
    }
  }

  /**
   * The notifications so far, if the step delivers one. They are read before the step, so that the
   * choice does not depend on timing.
   */
  async function hooksFor(step: Step): Promise<Hook[]> {
    return partsOf(step).some((each) => each.do === "deliver")
      ? await simulation.hooks(orderId)
      : [];
  }

  /**
   * Runs the steps in `meanwhile` while the response to the step's gateway call is held back. If
   * the step does not call the gateway, they run after it.
   */
  async function delayResponse(
    { step, meanwhile }: Extract<Step, { do: "delayed" }>,
    hooks: Hook[],
  ): Promise<void> {
    const arrived = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const ids = [orderId, ...transactionId ? [transactionId] : []];
    simulation.interceptOnce(ids, async (pass) => {
      const answer = await pass();
      arrived.resolve();
      await held.promise;
      return answer;
    });
    const slow = runStep(step, hooks).finally(() => simulation.stopIntercepting(ids));
    try {
      await Promise.race([arrived.promise, slow]);
      for (const each of meanwhile) await runStep(each, await hooksFor(each));
    } finally {
      held.resolve();
      await slow;
    }
  }

  /** The gateway may reject an action that is not possible in the transaction's state. */
  async function callGateway(path: string, body: Json): Promise<void> {
    if (transactionId === null) return;
    const { http, text } = await sandbox.call("POST", path, body);
    assert.ok(http < 500, text);
  }

  async function actOnDashboard(
    { action, amount }: Extract<Step, { do: "dashboard" }>,
  ): Promise<void> {
    if (action === "capture") {
      const body = { transaction_id: transactionId, gross_amount: amount };
      return await callGateway("/v2/capture", body);
    }
    await callGateway(`/v2/${transactionId}/${action}`, action === "refund" ? { amount } : {});
  }

  async function call(step: Extract<Step, { do: "call" }>): Promise<void> {
    const { at, action, body, key, fault } = step;
    const path = `/payments/${id}/${action}/`;
    if (fault && transactionId) simulation.interceptOnce([transactionId], failCall(fault), "POST");
    const response = action === "check_status"
      ? await simulation.get(at, path)
      : await simulation.post(at, path, body, key ? { "Idempotency-Key": key } : {});
    if (fault && transactionId) simulation.stopIntercepting([transactionId]);
    const text = await response.text();
    assert.ok(response.status < 500, `${action}: ${response.status} ${text}`);
  }

  async function review({ at, action }: Extract<Step, { do: "review" }>): Promise<void> {
    const decide = action === "approve" ? approvePayment : denyPayment;
    await decide(apps[at].service, { caller: STAFF, id, requestKey: null }).catch(ignoreRefusal);
  }

  async function check(at: Instance, clock: () => number): Promise<void> {
    await checkPaymentStatus({ ...apps[at].service, clock }, id).catch(ignoreRefusal);
  }

  async function sync(): Promise<void> {
    // After a lost call, the check uses a clock so far ahead that the call counts as failed.
    if (isFaulty(plan)) {
      return void await checkPaymentStatus(
        { ...apps.a.service, clock: () => simulation.clock() + UNKNOWN_CHARGE_FAILS_MS },
        id,
      );
    }
    const { at, by } = plan.sync;
    if (by === "task") return void await checkPaymentStatus(apps[at].service, id);
    const response = await simulation.get(at, `/payments/${id}/check_status/`);
    assert.equal(response.status, 200, await response.text());
  }

  /** Repeats checks that timed out on a slow machine. In production, a job does this later. */
  async function finishNotifications(): Promise<void> {
    const { service } = apps.a;
    for (const notificationId of accepted) {
      const stored = await service.database.query((sql) => findNotification(sql, notificationId));
      if (stored?.status === "received") await confirmNotification(service, stored);
    }
  }

  async function deliver(hook: Hook, at: Instance, mutation?: Mutation): Promise<void> {
    const body = mutation
      ? JSON.stringify(mutation.change(hook.body, simulation.otherPayment))
      : hook.text;
    const response = await apps[at].request("/notification/", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    const text = await response.text();
    if (mutation?.isRefused) {
      return assert.ok([400, 403].includes(response.status), `${mutation.name}: ${text}`);
    }
    assert.equal(response.status, 200, text);
    accepted.push(JSON.parse(text).notification_id);
  }
}

function failCall(fault: Fault) {
  return async (pass: () => Promise<Response>): Promise<Response> => {
    if (fault === "response_lost") await (await pass()).body?.cancel();
    return new Response("<h1>Bad Gateway</h1>", { status: 502 });
  };
}

export function isFaulty(plan: Plan): boolean {
  const { how } = plan.charge;
  return how === "response_lost" || how === "request_lost" ||
    stepsOf(plan).some((step) => step.do === "call" && step.fault);
}

export function isForged(plan: Plan): boolean {
  return stepsOf(plan).some((step) => step.do === "deliver" && step.mutation);
}

/** Ignores errors with which the service rejects or postpones the call. */
function ignoreRefusal(error: unknown): void {
  const refusals = [ServiceError, GatewayError, PostponeJob];
  if (!refusals.some((each) => error instanceof each)) throw error;
}
