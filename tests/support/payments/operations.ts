/** The operations that call the gateway, for tests of behaviour that all of them share. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { createWaits } from "../gateway/gateway.ts";
import { chargeRequest, type Payment, type TestPayments } from "./payments.ts";
import type { RelayedPayments } from "../gateway/relay.ts";
import type { Json } from "../gateway/sandbox.ts";
import { until } from "../until.ts";

export interface Operation {
  /** The name of the operation in the sandbox. */
  name: "charge" | "cancel" | "expire" | "capture" | "refund";
  /** The gateway call it makes, in the notation of the relay. */
  call: string;
  /** The HTTP status of a successful response. */
  status: number;
  /** Creates the payment that the operation needs to succeed. */
  prepare(payments: TestPayments): Promise<Prepared>;
  /** The payment in the response body. */
  paymentIn(answer: Json): Payment;
  /** How often the gateway performed the operation on a transaction. */
  timesDone(transaction: Json): number;
}

export interface Prepared {
  path: string;
  body: Json;
  orderId: string;
}

export const OPERATIONS: Operation[] = [
  {
    name: "charge",
    call: "POST /v2/charge",
    status: 201,
    async prepare({ sandbox }) {
      const orderId = randomUUID();
      const body = { ...await chargeRequest(sandbox, "bca"), order_id: orderId };
      return { path: "/charge/", body, orderId };
    },
    paymentIn: (payment) => payment,
    timesDone: () => 1,
  },
  {
    name: "cancel",
    call: "POST /v2/:id/cancel",
    status: 200,
    prepare: async (payments) => actionOn(await payments.charge("bca"), "cancel", {}),
    paymentIn: (payment) => payment,
    timesDone: ({ transaction_status }) => Number(transaction_status === "cancel"),
  },
  {
    name: "expire",
    call: "POST /v2/:id/expire",
    status: 200,
    prepare: async (payments) => actionOn(await payments.charge("bca"), "expire", {}),
    paymentIn: (payment) => payment,
    timesDone: ({ transaction_status }) => Number(transaction_status === "expire"),
  },
  {
    name: "capture",
    call: "POST /v2/capture",
    status: 200,
    prepare: async (payments) =>
      actionOn(await payments.charge("card_auth"), "capture", { amount: 40_000 }),
    paymentIn: (payment) => payment,
    timesDone: ({ transaction_status, gross_amount }) =>
      Number(transaction_status === "capture" && gross_amount === "40000.00"),
  },
  {
    name: "refund",
    call: "POST /v2/:id/refund",
    status: 200,
    prepare: async (payments) =>
      actionOn(await payments.paid("gopay"), "refund", { amount: 10_000, reason: "Out of stock" }),
    paymentIn: ({ payment }) => payment,
    timesDone: ({ refunds = [] }) => refunds.length,
  },
];

function actionOn({ id, order_id }: Payment, action: string, body: Json): Prepared {
  return { path: `/payments/${id}/${action}/`, body, orderId: order_id };
}

export function operationOf(name: Operation["name"]): Operation {
  return OPERATIONS.find((each) => each.name === name)!;
}

/** How often the gateway performed the operation, over all transactions of the order. */
export async function timesDone(
  payments: TestPayments,
  operation: Operation,
  { orderId }: Prepared,
): Promise<number> {
  const all = await payments.transactions(orderId);
  return all.reduce((sum, each) => sum + operation.timesDone(each), 0);
}

export interface FaultyRequest {
  operation: Pick<Operation, "name" | "call">;
  prepared: Prepared;
  fault: string;
  waits: ReturnType<typeof createWaits>;
  headers?: HeadersInit;
  /** More settings of the fault. */
  more?: Json;
}

/**
 * Sends a request and makes its gateway call fail.
 * With `no_answer`, the call's deadline passes once the gateway has received the call.
 */
export async function sendWithFault(
  { post, relay, sandbox }: RelayedPayments,
  { operation, prepared, fault, waits, headers, more }: FaultyRequest,
): Promise<Response> {
  await sandbox.fault(operation.name, fault, more);
  const before = relay.received.length;
  const responding = post(prepared.path, prepared.body, headers);
  if (fault === "no_answer") {
    const isReceived = () => relay.asked().slice(before).includes(operation.call);
    await until("the gateway has the request", isReceived);
    waits.passDeadlines();
  }
  const response = await responding;
  assert.deepEqual(await sandbox.control("faults", undefined, "GET"), [], "the fault was used");
  return response;
}
