/** Faults on order: what goes wrong, in which operation, how many times. */

import type { Random } from "../engine/random.ts";

export const ANSWER_FAULTS = [
  /** The request is taken and nothing ever comes back. */
  "no_answer",
  /** Done, and answered late. */
  "delay",
  /** The connection is cut; nothing was done. */
  "reset",
  "error_500",
  "error_503",
  /** A 500 in the body under an HTTP 200, as the gateway has been seen to do. */
  "hidden_500",
  "rate_limit",
  /** Done, and the answer is cut in the middle of its JSON. */
  "broken_json",
  /** An HTML page, as a proxy in between would send it. */
  "html",
  /** Done, but the answer is lost: the connection is cut. */
  "answer_lost",
  /** Done, and its webhooks arrive before the answer. */
  "webhook_first",
  /** A capture or refund that the bank refuses. */
  "bank_refuses",
] as const;

export const WEBHOOK_FAULTS = ["webhook_lost", "webhook_twice", "webhook_out_of_order"] as const;

export type AnswerFault = (typeof ANSWER_FAULTS)[number];
export type WebhookFault = (typeof WEBHOOK_FAULTS)[number];

export interface Fault {
  id: string;
  /** The operation it befalls, or `*`; for webhooks, the operation that causes them. */
  operation: string;
  fault: AnswerFault | WebhookFault;
  /** How often it still happens. */
  count: number;
  /** How likely it is, each time it could happen; 1: certain. */
  rate: number;
  delay_ms: number;
  retry_after: number | null;
}

export interface Faults {
  add(fault: Omit<Fault, "id">): Fault;
  list(): Fault[];
  clear(): void;
  /** What befalls this call of an operation, if anything. */
  takeForAnswer(operation: string): Fault | null;
  takeForWebhook(cause: string): WebhookFault | null;
}

export function createFaults(random: Random): Faults {
  let faults: Fault[] = [];

  function take(name: string, kinds: readonly string[]): Fault | null {
    for (const fault of faults) {
      const isMeant = fault.operation === name || fault.operation === "*";
      if (!isMeant || !kinds.includes(fault.fault)) continue;
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
    takeForAnswer: (operation) => take(operation, ANSWER_FAULTS),
    takeForWebhook: (cause) => take(cause, WEBHOOK_FAULTS)?.fault as WebhookFault ?? null,
  };
}
