/** The HTTP responses of armed faults. */

import { type ApiResponse, cutConnection, render } from "../http/response.ts";
import type { Fault } from "./faults.ts";

/** The response of a fault that replaces the operation (nothing is executed); null for others. */
export async function respondWithFault(
  fault: Fault,
  refuse: (code: 429 | 500 | 503) => ApiResponse,
  closing: AbortSignal,
): Promise<Response | null> {
  switch (fault.fault) {
    case "no_answer":
      await waitForAbort(closing);
      return cutConnection();
    case "reset":
      return cutConnection();
    case "error_500":
      return render({ ...refuse(500), http: 500 });
    case "error_503":
      return render({ ...refuse(503), http: 503 });
    case "hidden_500": {
      const response = refuse(500);
      // HTTP 200 with the error in the body. API families without a code in the body get HTTP 500.
      const hasCode = typeof response.body === "object" && "status_code" in response.body!;
      return render({ ...response, http: hasCode ? 200 : 500 });
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

/** The damaged response of an executed operation; null if the fault does not damage it. */
export function corruptResponse(fault: Fault | null, response: ApiResponse): Response | null {
  switch (fault?.fault) {
    case "answer_lost":
      return cutConnection();
    case "broken_json": {
      const text = JSON.stringify(response.body);
      return new Response(text.slice(0, text.length / 2), {
        status: response.http,
        headers: { "Content-Type": "application/json" },
      });
    }
    default:
      return null;
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
