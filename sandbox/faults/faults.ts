/** Armed faults: what goes wrong, in which operation, how many times. */

import type { Random } from "../engine/random.ts";

export const RESPONSE_FAULTS = [
  /** The request is accepted and never answered. */
  "no_answer",
  /** The operation succeeds; the response is late. */
  "delay",
  /** The connection is cut; the operation is not executed. */
  "reset",
  "error_500",
  "error_503",
  /** 500 in the body with HTTP 200, as the real gateway sometimes sends. */
  "hidden_500",
  "rate_limit",
  /** The operation succeeds; the JSON of the response is truncated. */
  "broken_json",
  /** An HTML error page, as a proxy would send. */
  "html",
  /** The operation succeeds; the connection is cut before the response. */
  "answer_lost",
  /** The operation succeeds; its webhooks arrive before the response. */
  "webhook_first",
  /** The bank declines a capture or refund. */
  "bank_refuses",
  /** The bank makes a refund later: the gateway answers 201 and does not list the refund yet. */
  "bank_pending",
] as const;

export const WEBHOOK_FAULTS = ["webhook_lost", "webhook_twice", "webhook_out_of_order"] as const;

export type ResponseFault = (typeof RESPONSE_FAULTS)[number];
export type WebhookFault = (typeof WEBHOOK_FAULTS)[number];

export interface Fault {
  id: string;
  /** Operation that fails, or `*`; for webhook faults the operation that causes the webhook. */
  operation: string;
  fault: ResponseFault | WebhookFault;
  /** How many more times the fault happens. */
  count: number;
  /** Probability each time; 1 means always. */
  rate: number;
  delay_ms: number;
  retry_after: number | null;
}

export interface Faults {
  add(fault: Omit<Fault, "id">): Fault;
  list(): Fault[];
  clear(): void;
  /** Returns the fault for this call, if one is armed, and counts it as used. */
  takeForResponse(operation: string): Fault | null;
  takeForWebhook(cause: string): WebhookFault | null;
}

export function createFaults(random: Random): Faults {
  let faults: Fault[] = [];

  function take(name: string, kinds: readonly string[]): Fault | null {
    for (const fault of faults) {
      const isMatch = fault.operation === name || fault.operation === "*";
      if (!isMatch || !kinds.includes(fault.fault)) continue;
      if (fault.rate < 1 && random.below(1e6) / 1e6 >= fault.rate) continue;
      const left = { ...fault, count: fault.count - 1 };
      faults = faults.flatMap((each) => each !== fault ? each : left.count > 0 ? left : []);
      return fault;
    }
    return null;
  }

  return {
    add(fault) {
      const added = { ...fault, id: random.uuid() };
      faults = [...faults, added];
      return added;
    },
    list: () => faults,
    clear() {
      faults = [];
    },
    takeForResponse: (operation) => take(operation, RESPONSE_FAULTS),
    takeForWebhook: (cause) => take(cause, WEBHOOK_FAULTS)?.fault as WebhookFault ?? null,
  };
}
