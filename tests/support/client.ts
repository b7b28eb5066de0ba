/** Asks a service on a port, as any client would; its answers have to be as the document says. */

import { checkAnswer } from "./document/contract.ts";

/** `fetch`, for addresses of the service: `${service.url}/charge/`. */
export async function askService(
  url: string,
  init?: RequestInit,
  basePath?: string,
): Promise<Response> {
  const method = init?.method ?? "GET";
  return await checkAnswer({ method, url, basePath }, await fetch(url, init));
}
