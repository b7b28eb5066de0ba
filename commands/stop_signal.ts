/** The wish to end, from a terminal, a supervisor or a closing session. */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** One Ctrl-C can arrive as two signals within milliseconds; what comes later is impatience. */
const IMPATIENCE_MS = 1_000;

export interface StopSignal {
  /** Resolves at the first signal. */
  received: Promise<void>;
}

/** From now on a signal resolves `received`; a second one, a second later, ends the process at once. */
export function listenForStop(): StopSignal {
  const { promise: received, resolve } = Promise.withResolvers<void>();
  let first: number | null = null;
  for (const signal of SIGNALS) {
    Deno.addSignalListener(signal, () => {
      const now = performance.now();
      first ??= now;
      if (now - first > IMPATIENCE_MS) Deno.exit(1);
      resolve();
    });
  }
  return { received };
}
