/** Writes what is said to the gateway and by it to the log, for whoever has to see the bytes. */

import type { Log } from "../log.ts";
import type { Exchange } from "./transport.ts";

export function logExchanges(log: Log): (exchange: Exchange) => void {
  return (exchange) =>
    log.info("gateway_exchange", {
      method: exchange.method,
      url: exchange.url,
      request_headers: exchange.requestHeaders,
      request_text: exchange.requestText,
      status: exchange.status,
      response_text: exchange.responseText,
      failure: exchange.failure,
      duration_ms: exchange.durationMs,
      attempt: exchange.attempt,
    });
}
