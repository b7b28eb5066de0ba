/** Options, headers and request ids that all calls share. */

/** Limits of one call, which replace those of the client. */
export interface CallLimits {
  /** Timeout of one attempt. */
  timeoutMs?: number;
  /** The maximum number of retries, which are made only if they are safe; 0 for none. */
  maxRetries?: number;
}

export interface CallOptions extends CallLimits {
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
export function toRequestOptions(options: CallOptions = {}) {
  const { signal, requestId, timeoutMs, maxRetries } = options;
  const headers = requestId === undefined ? {} : { "X-Request-Id": requestId };
  const limits: CallLimits = { timeoutMs, maxRetries };
  return { throwOnError: true, headers, ...limits, ...(signal && { signal }) } as const;
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
export async function dataOf<T>(call: Promise<{ data: T; response: Response }>): Promise<T> {
  const { data, response } = await call;
  rememberRequestId(data, response);
  return data;
}

const requestIds = new WeakMap<object, string>();

export function rememberRequestId(result: unknown, response: Response): void {
  const requestId = response.headers.get("X-Request-Id");
  if (requestId && typeof result === "object" && result !== null) {
    requestIds.set(result, requestId);
  }
}

/**
 * The request id of the call that returned this object or page, as in the service's log. Null for
 * parts and copies of a result.
 */
export function requestIdOf(result: object): string | null {
  return requestIds.get(result) ?? null;
}
