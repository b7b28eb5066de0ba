/** A fetch that waits so long for an answer to begin; its body may take as long as it likes. */

export function answeredWithin(timeoutMs: number, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new DOMException("It took too long", "TimeoutError")),
      timeoutMs,
    );
    const signal = AbortSignal.any([request.signal, late.signal]);
    try {
      return await send(new Request(request, { signal }));
    } finally {
      clearTimeout(timer);
    }
  };
}
