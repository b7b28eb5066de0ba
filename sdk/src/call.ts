/** Options and headers that all calls share. */

export interface CallOptions {
  /** Aborts the call. */
  signal?: AbortSignal;
  /** Your own request id, which appears in the service's log. */
  requestId?: string;
}

export interface KeyedOptions extends CallOptions {
  /**
   * A repeated call with the same key has no second effect, even from another process. Default: a
   * new key for each call, available as `error.idempotencyKey` if it fails.
   */
  idempotencyKey?: string;
}

/** For calls without an `Idempotency-Key`. */
export function toRequestOptions({ signal, requestId }: CallOptions = {}) {
  const headers = requestId === undefined ? {} : { "X-Request-Id": requestId };
  return { throwOnError: true, headers, ...(signal && { signal }) } as const;
}

/** For calls with an `Idempotency-Key`. */
export function withIdempotencyKey(options: KeyedOptions = {}) {
  const { headers, ...rest } = toRequestOptions(options);
  const key = options.idempotencyKey ?? crypto.randomUUID();
  return { ...rest, headers: { ...headers, "Idempotency-Key": key } } as const;
}

/** For calls with an `Idempotency-Key` that return a job. */
export function withRespondAsync(options?: KeyedOptions) {
  const { headers, ...rest } = withIdempotencyKey(options);
  return { ...rest, headers: { ...headers, Prefer: "respond-async" } } as const;
}

/** The body of the response. */
export async function dataOf<T>(call: Promise<{ data: T }>): Promise<T> {
  return (await call).data;
}
