/** Lets a test pass, hold or drop what is sent over a connection. */

export interface Gate<T> {
  /** Resolves to whether it may pass; pending while the gate is shut. */
  pass(thing: T): Promise<boolean>;
  /** Holds everything that arrives from now on, or only what `holds` selects. */
  shut(holds?: (thing: T) => boolean): void;
  /** What is held, in the order of arrival. */
  waiting(): T[];
  /** Passes what is held, and everything that arrives later. */
  open(): void;
  /** Drops what is held, and passes everything that arrives later. */
  lose(): void;
}

/** `onArrival` is called for everything that arrives, before it is passed or held. */
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
