/** Holds responses back just before the server stops listening, so that proxies go elsewhere. */

import type { Fetch } from "./wrap_requests.ts";

export interface HeldResponses {
  wrap(fetch: Fetch): Fetch;
  /** Holds the responses to requests that arrive from now on, except those to health checks. */
  hold(): void;
  release(): void;
}

/**
 * When a server stops listening, the kernel resets the connections that it has not accepted yet. A
 * proxy has already sent its request over them, and must not repeat a POST. A proxy that chooses
 * the instance with the fewest open requests sends none to an instance that holds its responses.
 */
export function createHeldResponses(): HeldResponses {
  const released = Promise.withResolvers<void>();
  let isHolding = false;
  return {
    wrap(fetch) {
      const respondLater: Fetch = async (request, connection) => {
        const response = await fetch(request, connection);
        await released.promise;
        return response;
      };
      return (request, connection) =>
        isHolding && !isHealthCheck(request)
          ? respondLater(request, connection)
          : fetch(request, connection);
    },
    hold: () => isHolding = true,
    release() {
      isHolding = false;
      released.resolve();
    },
  };
}

function isHealthCheck({ url }: Request): boolean {
  return /\/health\/(live|ready)\/?$/.test(url);
}
