/** What a 202 means: no, or not yet. */

import type { Answer } from "./answers.ts";

/** A 202 that says no: by bank, fraud detection or wallet. Nothing more will come of it. */
export function isDenial({ statusCode, body }: Answer<Record<string, unknown>>): boolean {
  if (statusCode !== "202") return false;
  return body.transaction_status === "deny" ||
    /^refund denied/i.test(String(body.status_message ?? "")) ||
    // Only pay accounts have that member, and no 202 of theirs means anything but a refusal.
    "account_status" in body;
}

/** A 202 that says nothing: an earlier call with the same key still runs, and its end is unknown. */
export function isStillRunning(answer: Answer<Record<string, unknown>>): boolean {
  return answer.statusCode === "202" && !isDenial(answer);
}
