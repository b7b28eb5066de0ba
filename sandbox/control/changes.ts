/** `GET /_sandbox/changes`: tells a page that something changed, not what and not how often. */

import type { SSEStreamingApi } from "hono/streaming";

/** However much changes, one message at a time is under way; a page that stalls costs nothing. */
export async function tellOfChanges(
  stream: SSEStreamingApi,
  subscribe: (listener: () => void) => () => void,
  closing: AbortSignal,
): Promise<void> {
  let hasNews = true;
  let wake = () => {};
  const hear = () => {
    hasNews = true;
    wake();
  };
  const unsubscribe = subscribe(hear);
  stream.onAbort(hear);
  closing.addEventListener("abort", hear);
  while (!stream.aborted && !closing.aborted) {
    if (hasNews) {
      hasNews = false;
      await stream.writeSSE({ data: "changed" });
    } else {
      await new Promise<void>((resolve) => wake = resolve);
    }
  }
  closing.removeEventListener("abort", hear);
  unsubscribe();
}
