/**
 * Recordings: one exchange with the gateway for each step, without secrets, and how the client read
 * the response. A file of recordings can be replayed through the client (docs/gateway.md,
 * "Recordings in the tests").
 */

import { createGatewayClient, type GatewayClient } from "../../core/gateway/client.ts";
import { type FailureType, GatewayError, type GatewayOutcome } from "../../core/gateway/errors.ts";
import { type Json, type JsonObject, parseObject } from "../../core/gateway/json.ts";
import { maskData, maskText } from "../../core/gateway/mask.ts";
import * as responses from "../../core/gateway/responses.ts";
import type { Exchange } from "../../core/gateway/transport.ts";

/** The client's operations, each with the schema that reads its response. */
export const SCHEMAS = {
  charge: responses.Transaction,
  getStatus: responses.Transaction,
  getStatusB2b: responses.TransactionList,
  cancel: responses.Transaction,
  expire: responses.Transaction,
  capture: responses.Transaction,
  refund: responses.Transaction,
  directRefund: responses.Transaction,
  approve: responses.Transaction,
  deny: responses.Transaction,
  getCardToken: responses.CardToken,
  registerCard: responses.RegisteredCard,
  pointInquiry: responses.Points,
  getBin: responses.Bin,
  createSnapPage: responses.SnapPage,
  cancelSnapPage: responses.CancelledSnapPage,
  createPayAccount: responses.PayAccount,
  getPayAccount: responses.PayAccount,
  unbindPayAccount: responses.PayAccount,
  createSubscription: responses.Subscription,
  getSubscription: responses.Subscription,
  updateSubscription: responses.Message,
  disableSubscription: responses.Message,
  enableSubscription: responses.Message,
  cancelSubscription: responses.Message,
  createInvoice: responses.Invoice,
  getInvoice: responses.Invoice,
  voidInvoice: responses.Voided,
} satisfies Partial<Record<keyof GatewayClient, unknown>>;

export type Operation = keyof typeof SCHEMAS;

/** All arguments of these operations are card data. */
const CARD_OPERATIONS: Operation[] = ["getCardToken", "registerCard", "pointInquiry"];

/** How the client read a response: as a result, or as an error of this class. */
export interface Reading {
  statusCode: string | null;
  error: string | null;
  outcome: GatewayOutcome | null;
}

export interface Recording {
  step: string;
  operation: Operation;
  /** The arguments of the operation. */
  args: Json[];
  request: { method: string; path: string; body: Json };
  /** A body that is not a JSON object is a string. */
  response: { http: number; body: Json };
  reading: Reading;
  /** Whether `signature_key` fits the documented formula; null if the response has none. */
  isSignatureValid: boolean | null;
}

export interface RecordingFile {
  format: 1;
  recorded_at: string;
  gateway: string;
  recordings: Recording[];
}

export interface Answer {
  reading: Reading;
  /** May contain secrets. */
  body: JsonObject;
  failure: FailureType;
  retryAfterSeconds: number | null;
}

export async function callOperation(
  client: GatewayClient,
  operation: Operation,
  args: unknown[],
): Promise<Answer> {
  const call = client[operation] as (...args: unknown[]) => Promise<
    responses.GatewayResponse<unknown>
  >;
  try {
    const { statusCode, raw } = await call(...args);
    const reading = { statusCode, error: null, outcome: null };
    return { reading, body: raw, failure: "answered", retryAfterSeconds: null };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { statusCode, name, outcome, data, failure, retryAfterSeconds } = error;
    const reading = { statusCode, error: name, outcome };
    return { reading, body: (data ?? {}) as JsonObject, failure, retryAfterSeconds };
  }
}

/**
 * An exchange with a response, as a recording. `secrets` are masked in addition to what the client
 * has masked.
 */
export function toRecording(
  call: Pick<Recording, "step" | "operation" | "reading" | "isSignatureValid">,
  args: unknown[],
  exchange: Exchange,
  secrets: string[],
): Recording {
  const { method, url, requestText, status, responseText } = exchange;
  const { pathname, search } = new URL(url);
  const isCard = CARD_OPERATIONS.includes(call.operation);
  return {
    ...call,
    args: isCard ? args.map(() => "[secret]") : maskData(args as Json, secrets) as Json[],
    request: {
      method,
      path: maskText(pathname + search, secrets),
      body: requestText === null ? null : parseText(maskText(requestText, secrets)),
    },
    response: { http: status!, body: parseText(maskText(responseText ?? "", secrets)) },
  };
}

function parseText(text: string): Json {
  // A number that was masked in the text is no longer JSON.
  const json = text.replace(/(?<=[:[,]\s*)\[secret\](?=\s*[,\]}])/g, '"[secret]"');
  return parseObject(json) ?? text;
}

/**
 * Serves the recorded response on a local port and calls the client's operation again. Returns how
 * the client reads the response now.
 */
export async function replay({ operation, args, response }: Recording): Promise<Reading> {
  const body = typeof response.body === "string" ? response.body : JSON.stringify(response.body);
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using server = Deno.serve(options, async (request) => {
    await request.body?.cancel();
    return new Response(body, { status: response.http });
  });
  const client = createGatewayClient({
    baseUrl: `http://127.0.0.1:${server.addr.port}`,
    serverKey: "SB-Mid-server-replay",
    clientKey: "SB-Mid-client-replay",
  });
  return (await callOperation(client, operation, args)).reading;
}
