/** An HTTP client for the service that checks each response against the document. */

import { checkAnswer } from "./document/contract.ts";

/** `fetch` for URLs of the service, such as `${service.url}/charge/`. */
export async function askService(
  url: string,
  init?: RequestInit,
  basePath?: string,
): Promise<Response> {
  const method = init?.method ?? "GET";
  return await checkAnswer({ method, url, basePath }, await fetch(url, init));
}
