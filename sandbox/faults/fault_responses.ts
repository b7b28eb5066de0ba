/** The responses that faults cause. */

import { type Answer, cut, render } from "../http/response.ts";
import type { Fault } from "./faults.ts";

/** Faults that strike before anything is done. */
export async function answerInstead(
  fault: Fault,
  refuse: (code: 429 | 500 | 503) => Answer,
  closing: AbortSignal,
): Promise<Response | null> {
  switch (fault.fault) {
    case "no_answer":
      await aborted(closing);
      return cut();
    case "reset":
      return cut();
    case "error_500":
      return render({ ...refuse(500), http: 500 });
    case "error_503":
      return render({ ...refuse(503), http: 503 });
    case "hidden_500": {
      const answer = refuse(500);
      // Where no code is in the body, there is nothing to hide it in.
      const isCoded = typeof answer.body === "object" && "status_code" in answer.body!;
      return render({ ...answer, http: isCoded ? 200 : 500 });
    }
    case "rate_limit": {
      const response = render({ ...refuse(429), http: 429 });
      if (fault.retry_after !== null) {
        response.headers.set("Retry-After", String(fault.retry_after));
      }
      return response;
    }
    case "html":
      return new Response("<html><body><h1>502 Bad Gateway</h1></body></html>", {
        status: 502,
        headers: { "Content-Type": "text/html" },
      });
    default:
      return null;
  }
}

/** Faults that strike when all is done. */
export function spoil(fault: Fault | null, answer: Answer): Response | null {
  switch (fault?.fault) {
    case "answer_lost":
      return cut();
    case "broken_json": {
      const text = JSON.stringify(answer.body);
      return new Response(text.slice(0, text.length / 2), {
        status: answer.http,
        headers: { "Content-Type": "application/json" },
      });
    }
    default:
      return null;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
