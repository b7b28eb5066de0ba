/** Runs a random history. */

import assert from "node:assert/strict";
import { ServiceError } from "../../../core/errors.ts";
import { GatewayError } from "../../../core/gateway/errors.ts";
import { PostponeJob } from "../../../core/jobs/task.ts";
import { confirmNotification } from "../../../core/notifications/confirm.ts";
import { approvePayment, denyPayment } from "../../../core/payments/actions.ts";
import { checkPaymentStatus } from "../../../core/payments/check_payment_status.ts";
import { findNotification } from "../../../db/notifications.ts";
import type { Hook, Json } from "../gateway/sandbox.ts";
import { chargeRequest } from "../payments/payments.ts";
import type { Mutation } from "./mutations.ts";
import {
  cardOf,
  type Fault,
  type Instance,
  LIVES,
  moreOf,
  partsOf,
  type Plan,
  type Step,
  stepsOf,
} from "./plan.ts";
import type { World } from "./world.ts";

/** The result of a history. */
export interface SimulationResult {
  plan: Plan;
  paymentId: string;
  orderId: string;
  /** All notifications of the gateway, in order. */
  hooks: Json[];
  /** The notifications that were accepted. */
  accepted: string[];
  /** The transaction at the gateway; null if there is none. */
  transaction: Json | null;
}

const CALLER = { userId: "alice", isStaff: false, credential: "api_key", keyPrefix: null } as const;

/** After this time a charge that the gateway does not know counts as not made, for every type. */
const A_DAY_LATER_MS = 26 * 3_600_000;

export async function runPlan(
  world: World,
  plan: Plan,
  orderId: string,
): Promise<SimulationResult> {
  const { sandbox, apps } = world;
  const accepted: string[] = [];
  let transactionId: string | null = null;
  const id = await charge();
  for (const step of plan.steps) await take(step, await hooksFor(step));
  await sync();
  const hooks = await world.hooks(orderId);
  if (plan.lateOrder) {
    const at = plan.lateOrder;
    const places = hooks.map((hook, index) => ({ hook, place: at[index % at.length]! }));
    places.sort((one, other) => one.place - other.place);
    for (const { hook, place } of places) await deliver(hook, place % 2 ? "a" : "b");
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
      ...await chargeRequest(sandbox, LIVES[plan.kind].charge, cardOf(plan.kind)),
      ...moreOf(plan.kind),
      order_id: orderId,
    };
    if (how === "overtaken") {
      world.interceptOnce([orderId], async (pass) => {
        const answer = await pass();
        await findTransaction();
        for (const step of meanwhile) await take(step, await hooksFor(step));
        return answer;
      });
    } else if (how !== "well") world.interceptOnce([orderId], losing(how), "POST");
    const response = await world.post(at, "/charge/", body);
    const answer = await response.json();
    const isAnswered = how === "well" || how === "overtaken";
    assert.equal(response.status === 201, isAnswered, JSON.stringify(answer));
    await findTransaction();
    return answer.id ?? answer.payment_id;
  }

  async function findTransaction(): Promise<void> {
    const [hook] = await world.hooks(orderId);
    transactionId = hook?.body.transaction_id ?? null;
  }

  async function take(step: Step, hooks: Hook[]): Promise<void> {
    switch (step.do) {
      case "happen":
        return await atGateway(`/_sandbox/transactions/${transactionId}/${step.what}`, step.body);
      case "elsewhere":
        return await elsewhere(step);
      case "call":
        return await call(step);
      case "review":
        return await review(step);
      case "task":
        return await check(step.at, world.clock);
      case "deliver": {
        const hook = hooks[Math.round(step.which * (hooks.length - 1))];
        if (hook) await deliver(hook, step.at, step.mutation);
        return;
      }
      case "at once":
        return void await Promise.all(step.steps.map((each) => take(each, hooks)));
      case "overtaken":
        return await overtake(step, hooks);
    }
  }

  /** The notifications before the step, so that the choice does not depend on timing. */
  async function hooksFor(step: Step): Promise<Hook[]> {
    return partsOf(step).some((each) => each.do === "deliver") ? await world.hooks(orderId) : [];
  }

  /** If the step does not call the gateway, nothing is delayed. */
  async function overtake(
    { step, meanwhile }: Extract<Step, { do: "overtaken" }>,
    hooks: Hook[],
  ): Promise<void> {
    const arrived = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const abouts = [orderId, ...transactionId ? [transactionId] : []];
    world.interceptOnce(abouts, async (pass) => {
      const answer = await pass();
      arrived.resolve();
      await held.promise;
      return answer;
    });
    const slow = take(step, hooks).finally(() => world.stopIntercepting(abouts));
    try {
      await Promise.race([arrived.promise, slow]);
      for (const each of meanwhile) await take(each, await hooksFor(each));
    } finally {
      held.resolve();
      await slow;
    }
  }

  /** Many actions are possible only in some states; then the gateway rejects them. */
  async function atGateway(path: string, body: Json): Promise<void> {
    if (transactionId === null) return;
    const { http, text } = await sandbox.call("POST", path, body);
    assert.ok(http < 500, text);
  }

  async function elsewhere({ what, amount }: Extract<Step, { do: "elsewhere" }>): Promise<void> {
    if (what === "capture") {
      const body = { transaction_id: transactionId, gross_amount: amount };
      return await atGateway("/v2/capture", body);
    }
    await atGateway(`/v2/${transactionId}/${what}`, what === "refund" ? { amount } : {});
  }

  async function call(step: Extract<Step, { do: "call" }>): Promise<void> {
    const { at, what, body, key, fault } = step;
    const path = `/payments/${id}/${what}/`;
    if (fault && transactionId) world.interceptOnce([transactionId], losing(fault), "POST");
    const response = what === "check_status"
      ? await world.get(at, path)
      : await world.post(at, path, body, key ? { "Idempotency-Key": key } : {});
    if (fault && transactionId) world.stopIntercepting([transactionId]);
    const text = await response.text();
    assert.ok(response.status < 500, `${what}: ${response.status} ${text}`);
  }

  async function review({ at, what }: Extract<Step, { do: "review" }>): Promise<void> {
    const verb = what === "approve" ? approvePayment : denyPayment;
    await verb(apps[at].deps, CALLER, id).catch(acceptRefusal);
  }

  async function check(at: Instance, clock: () => number): Promise<void> {
    await checkPaymentStatus({ ...apps[at].deps, clock }, id).catch(acceptRefusal);
  }

  async function sync(): Promise<void> {
    // A lost call is checked when it cannot arrive any more.
    if (isFaulty(plan)) {
      return void await checkPaymentStatus(
        { ...apps.a.deps, clock: () => world.clock() + A_DAY_LATER_MS },
        id,
      );
    }
    const { at, by } = plan.sync;
    if (by === "task") return void await checkPaymentStatus(apps[at].deps, id);
    const response = await world.get(at, `/payments/${id}/check_status/`);
    assert.equal(response.status, 200, await response.text());
  }

  /** On a busy machine a check can run out of time; then a job would do it, as here. */
  async function finishNotifications(): Promise<void> {
    const { deps } = apps.a;
    for (const accepting of accepted) {
      const left = await deps.database.query((sql) => findNotification(sql, accepting));
      if (left?.status === "received") await confirmNotification(deps, left);
    }
  }

  async function deliver(hook: Hook, at: Instance, mutation?: Mutation): Promise<void> {
    const body = mutation ? JSON.stringify(mutation.change(hook.body, world.bystander)) : hook.text;
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

function losing(fault: Fault) {
  return async (pass: () => Promise<Response>): Promise<Response> => {
    if (fault === "lost") await (await pass()).body?.cancel();
    return new Response("<h1>Bad Gateway</h1>", { status: 502 });
  };
}

export function isFaulty(plan: Plan): boolean {
  const { how } = plan.charge;
  return how === "lost" || how === "unsent" ||
    stepsOf(plan).some((step) => step.do === "call" && step.fault);
}

export function isForged(plan: Plan): boolean {
  return stepsOf(plan).some((step) => step.do === "deliver" && step.mutation);
}

/** The service may reject or postpone the call. */
function acceptRefusal(error: unknown): void {
  const answers = [ServiceError, GatewayError, PostponeJob];
  if (!answers.some((each) => error instanceof each)) throw error;
}
