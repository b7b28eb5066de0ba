/** An HTTP client for the service that checks each response against the document. */

import { checkResponse } from "./document/contract.ts";

/** `fetch` for URLs of the service, such as `${service.url}/charge/`. */
export async function callService(
  url: string,
  init?: RequestInit,
  basePath?: string,
): Promise<Response> {
  const method = init?.method ?? "GET";
  return await checkResponse({ method, url, basePath }, await fetch(url, init));
}
