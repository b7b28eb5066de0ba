/** Responses as data, before they become HTTP responses. */

export interface ApiResponse {
  http: number;
  body: unknown;
  isSuccess: boolean;
}

export function render({ http, body }: ApiResponse): Response {
  return typeof body === "string"
    ? new Response(body, { status: http, headers: { "Content-Type": "text/plain" } })
    : Response.json(body, { status: http });
}

/**
 * Cuts the connection after the headers, which is the closest to a reset that this server supports.
 */
export function cutConnection(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return new Response(body, { headers: { "Content-Length": "1000" } });
}
