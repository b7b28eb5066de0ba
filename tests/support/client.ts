/** An HTTP client for the service that checks each response against the document. */

import { checkResponse } from "./document/contract.ts";
import { until } from "./until.ts";

/** `fetch` for URLs of the service, such as `${service.url}/charge/`. */
export async function callService(
  url: string,
  init?: RequestInit,
  basePath?: string,
): Promise<Response> {
  const method = init?.method ?? "GET";
  return await checkResponse({ method, url, basePath }, await fetch(url, init));
}

/**
 * Sends again after a 503, as clients do: on a slow machine the service can exceed its own time
 * limits.
 */
export async function sendUntilAnswered(send: () => Promise<Response>): Promise<Response> {
  let response = await send();
  await until("there is a response other than 503", async () => {
    if (response.status !== 503) return true;
    await response.body?.cancel();
    response = await send();
    return false;
  });
  return response;
}
