/** `voidInvoice`: voids an invoice with the status `sent` or `overdue`. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import type { ServiceError } from "../errors.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { GatewayResponse, Voided } from "../gateway/responses.ts";
import type { RequestKey, RequestResult } from "../idempotency/keys.ts";
import {
  beginAction,
  checkTimeAfterCall,
  classifyActionFailure,
  endWithError,
  requireAsShown,
} from "../records/act.ts";
import { changeRecord } from "../records/change.ts";
import {
  endWithUnknownOutcome,
  type KeyedRequest,
  keyStillHeld,
  keyWithReply,
  replyFromRecord,
} from "../records/keyed_request.ts";
import { gatewayDownProblem } from "../records/problems.ts";
import { actAs, type RecordDeps } from "../records/record.ts";
import { applyVoid } from "./apply_report.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import { invoiceKind, problems } from "./invoice_record.ts";
import { isOpen, VOIDABLE } from "./states.ts";
import { type InvoiceView, viewInvoice } from "./views.ts";

/**
 * Claims the key, checks the state, calls the gateway, classifies its response, applies it,
 * replies.
 */
export async function voidInvoice(
  service: RecordDeps,
  caller: Caller,
  id: string,
  reason: string | undefined,
  requestKey: RequestKey | null,
): Promise<RequestResult<InvoiceView>> {
  const deps = actAs(service, caller);
  const begun = await beginAction(deps, invoiceKind, caller, id, requestKey);
  if (begun.kind === "replay") return { body: begun.body as InvoiceView, isReplayed: true };
  const { request } = begun;
  const isResumed = begun.kind === "resume";
  try {
    let invoice = begun.record;
    if (isResumed) invoice = await checkForVoid(deps, invoice, "unknown");
    const wasVoided = (current: GatewayInvoice) => isResumed && current.status === "void";
    if (!wasVoided(invoice)) {
      requireVoidable(invoice);
      if (deps.gateway.breakerState("write") === "open") {
        throw gatewayDownProblem(isResumed ? "unknown" : "refused");
      }
      invoice = await changeRecord(deps, invoiceKind, invoice, (current) => {
        if (wasVoided(current)) return null;
        requireAsShown(invoiceKind, request, current);
        requireVoidable(current);
        const check_at = checkTimeAfterCall(current, deps.clock());
        return { set: { check_at }, key: keyStillHeld(request) };
      });
    }
    if (wasVoided(invoice)) {
      const body = await replyFromRecord(deps, invoiceKind, request, invoice);
      return { body, isReplayed: false };
    }
    let answer: GatewayResponse<Voided>;
    try {
      const options = { idempotencyKey: `${id}:void` };
      answer = await deps.gateway.voidInvoice(invoice.gateway_invoice_id!, reason, options);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const isWrongState = error.statusCode === "409";
      const failure = classifyActionFailure(error, { isResumed, isWrongState });
      if (failure === "unknown") {
        const problem = problems.gatewayProblem(error, invoice, "unknown");
        throw await endAsUnknown(deps, request, invoice, problem);
      }
      if (failure === "refused") throw problems.gatewayProblem(error, invoice);
      const current = await checkForVoid(deps, invoice, isResumed ? "unknown" : "refused");
      if (!isResumed || current.status !== "void") {
        throw problems.invalidState(current, `The gateway rejected the request: ${error.message}`);
      }
      const body = await replyFromRecord(deps, invoiceKind, request, current);
      return { body, isReplayed: false };
    }
    if (answer.body.success !== true) {
      const problem = problems.unclearAnswer(invoice, answer.statusCode);
      throw await endAsUnknown(deps, request, invoice, problem);
    }
    const key = keyWithReply(request, viewInvoice, new Date(deps.clock()));
    const voided = await applyVoid(deps, invoice, reason ?? null, key);
    return { body: viewInvoice(voided), isReplayed: false };
  } catch (error) {
    throw await endWithError(deps, invoiceKind, request, begun.record, error);
  }
}

/** Returns the problem to throw. */
async function endAsUnknown(
  deps: RecordDeps,
  request: KeyedRequest,
  invoice: GatewayInvoice,
  problem: ServiceError,
): Promise<ServiceError> {
  // A concurrent void or payment may have ended the invoice. It then keeps the time of its last
  // check.
  const keepLastCheck = ({ status, check_at }: GatewayInvoice) =>
    isOpen(status) ? {} : { check_at };
  return await endWithUnknownOutcome(deps, invoiceKind, request, invoice, problem, keepLastCheck);
}

function requireVoidable(invoice: GatewayInvoice): void {
  if (VOIDABLE.includes(invoice.status)) return;
  const advice = invoice.status === "paid" ? " Refund its payment instead." : "";
  const detail = `An invoice with status ${invoice.status} cannot be voided.${advice}`;
  throw problems.invalidState(invoice, detail);
}

/** `outcome`: the outcome of the void request, for the error that is thrown if the check fails. */
async function checkForVoid(
  deps: RecordDeps,
  invoice: GatewayInvoice,
  outcome: "refused" | "unknown",
): Promise<GatewayInvoice> {
  try {
    return (await checkAtGateway(deps, invoice, "void")).invoice;
  } catch (error) {
    throw problems.checkFailed(invoice, outcome, error);
  }
}
