/** A gate on a wire: what comes along passes, waits or is lost, as a test wants it. */

export interface Gate<T> {
  /** Whether it may go on; while the gate is shut there is no answer. */
  pass(thing: T): Promise<boolean>;
  /** What comes from now on waits, all of it or only what is asked for. */
  shut(holds?: (thing: T) => boolean): void;
  /** In the order in which it came. */
  waiting(): T[];
  /** What waits goes on, and all that comes passes. */
  open(): void;
  /** What waits is lost; all that comes passes. */
  lose(): void;
}

/** `onArrival` is told of everything that comes, before anything becomes of it. */
export function createGate<T>(onArrival: () => void): Gate<T> {
  let holds: (thing: T) => boolean = () => false;
  let waiting: { thing: T; decide: (mayPass: boolean) => void }[] = [];

  function end(mayPass: boolean) {
    holds = () => false;
    for (const { decide } of waiting) decide(mayPass);
    waiting = [];
  }

  return {
    pass(thing) {
      onArrival();
      if (!holds(thing)) return Promise.resolve(true);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.push({ thing, decide: resolve });
      return promise;
    },
    shut(which = () => true) {
      holds = which;
    },
    waiting: () => waiting.map(({ thing }) => thing),
    open: () => end(true),
    lose: () => end(false),
  };
}
