/** Ends a command at Ctrl-C only after everything that it has started is stopped and removed. */

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The exit code of a program that Ctrl-C has ended. */
const INTERRUPTED = 130;

/** One Ctrl-C can arrive as two signals within milliseconds; a later signal is a second Ctrl-C. */
const REPEATED_SIGNAL_MS = 1_000;

export interface Work<T extends AsyncDisposable> {
  /**
   * Starts what the command needs. A signal does not interrupt it, because what is half started
   * could not be stopped; so it ends early if `signal` is aborted between two steps.
   */
  open(signal: AbortSignal): Promise<T>;
  /** After a signal, it is not waited for. */
  run(opened: T, signal: AbortSignal): Promise<void>;
}

/** Opens, runs, and disposes. After a signal, exits with 130. A second signal exits at once. */
export async function untilInterrupted<T extends AsyncDisposable>(
  { open, run }: Work<T>,
): Promise<void> {
  const { signal, remove } = listen();
  try {
    await using opened = await open(signal);
    const running = run(opened, signal);
    // After a signal, it fails because what it works with is being stopped.
    running.catch(() => {});
    await Promise.race([running, untilAborted(signal)]);
  } catch (error) {
    // What was being opened has ended because of the signal.
    if (!signal.aborted) throw error;
  } finally {
    remove();
  }
  if (signal.aborted) Deno.exit(INTERRUPTED);
}

function listen(): { signal: AbortSignal; remove(): void } {
  const controller = new AbortController();
  let firstAt: number | null = null;
  function stop() {
    const now = performance.now();
    if (firstAt === null) console.error("\nStopping everything that was started");
    firstAt ??= now;
    if (now - firstAt > REPEATED_SIGNAL_MS) Deno.exit(INTERRUPTED);
    controller.abort();
  }
  for (const name of SIGNALS) Deno.addSignalListener(name, stop);
  return {
    signal: controller.signal,
    remove: () => SIGNALS.forEach((name) => Deno.removeSignalListener(name, stop)),
  };
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}
