/** Responses of the emulated gateway. */

export interface Answer {
  http: number;
  body: unknown;
  isSuccess: boolean;
}

export function render({ http, body }: Answer): Response {
  return typeof body === "string"
    ? new Response(body, { status: http, headers: { "Content-Type": "text/plain" } })
    : Response.json(body, { status: http });
}

/** Cuts the connection after the head of an answer, as close to a reset as this server can get. */
export function cut(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return new Response(body, { headers: { "Content-Length": "1000" } });
}
