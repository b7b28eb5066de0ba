/** What every call has in common: its options, and the answer without its wrapping. */

export interface CallOptions {
  /** Gives up when it is aborted. */
  signal?: AbortSignal;
  /** An id of your own for the request, to be found in the service's log. */
  requestId?: string;
}

export interface KeyedOptions extends CallOptions {
  /**
   * Repeat a call with the same key, in another process even, and it is not done twice. Each call
   * has a new one unless given; an error tells which (`error.idempotencyKey`).
   */
  idempotencyKey?: string;
}

/** For calls that change nothing, or that the service takes no key for. */
export function plain({ signal, requestId }: CallOptions = {}) {
  const headers = requestId === undefined ? {} : { "X-Request-Id": requestId };
  return { throwOnError: true, headers, ...(signal && { signal }) } as const;
}

/** For calls that must not happen twice. */
export function keyed(options: KeyedOptions = {}) {
  const { headers, ...rest } = plain(options);
  const key = options.idempotencyKey ?? crypto.randomUUID();
  return { ...rest, headers: { ...headers, "Idempotency-Key": key } } as const;
}

/** Likewise, where a job does it and nobody waits. */
export function respondAsync(options?: KeyedOptions) {
  const { headers, ...rest } = keyed(options);
  return { ...rest, headers: { ...headers, Prefer: "respond-async" } } as const;
}

/** What the service answered with. */
export async function answer<T>(call: Promise<{ data: T }>): Promise<T> {
  return (await call).data;
}
