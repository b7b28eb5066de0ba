/** Which `status_code` a state has: a webhook, a look and an operation do not agree (G§4.1). */

import type { Transaction } from "./transaction.ts";

/** Who is told: the caller of an operation, one who asks for the status, or the webhook's receiver. */
export type View = "operation" | "status" | "notification";

type State = Pick<Transaction, "status" | "fraud">;

export function statusCode({ status, fraud }: State, view: View): string {
  switch (status) {
    case "pending":
      return "201";
    case "capture":
    case "authorize":
      return fraud === "challenge" ? "201" : "200";
    case "deny":
    case "failure":
      return "202";
    case "cancel":
      return view === "notification" ? "202" : "200";
    case "expire":
      return view === "notification" ? "202" : "407";
    default:
      return "200";
  }
}
