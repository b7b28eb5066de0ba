/** Sends events as server-sent events, to callers of the API and to pages. */

import type { Context } from "hono";
import type { EventStreams, StreamFilter } from "../core/events/streams.ts";
import { type AppEnv, callerOf } from "./router.ts";

export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  // Proxies that buffer or compress the stream delay events.
  "Cache-Control": "no-store, no-transform",
  "X-Accel-Buffering": "no",
};

/** Sends a stream of events to the caller. */
export async function sendStream(
  c: Context<AppEnv>,
  streams: EventStreams,
  filter: StreamFilter,
): Promise<Response> {
  // A response without a body is never cancelled, so an open stream would leak.
  if (c.req.method === "HEAD") {
    streams.admit();
    return new Response(null, { headers: STREAM_HEADERS });
  }
  return new Response(await streams.open(callerOf(c), filter), { headers: STREAM_HEADERS });
}
