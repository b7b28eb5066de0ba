/** A gate for messages of a connection: a test lets them pass, holds them or drops them. */

export interface Gate<T> {
  /** Resolves to whether the message may pass; pending while the message is held. */
  pass(message: T): Promise<boolean>;
  /** Holds all messages that arrive from now on, or only those that `isHeld` selects. */
  hold(isHeld?: (message: T) => boolean): void;
  /** The messages that are held, in the order of arrival. */
  held(): T[];
  /** Passes the messages that are held, and all later ones. */
  release(): void;
  /** Drops the messages that are held, and passes all later ones. */
  drop(): void;
}

/** `onArrival` is called for each message, before it is passed or held. */
export function createGate<T>(onArrival: () => void): Gate<T> {
  let isHeld: (message: T) => boolean = () => false;
  let held: { message: T; decide: (mayPass: boolean) => void }[] = [];

  function end(mayPass: boolean) {
    isHeld = () => false;
    for (const { decide } of held) decide(mayPass);
    held = [];
  }

  return {
    pass(message) {
      onArrival();
      if (!isHeld(message)) return Promise.resolve(true);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      held.push({ message, decide: resolve });
      return promise;
    },
    hold(selects = () => true) {
      isHeld = selects;
    },
    held: () => held.map(({ message }) => message),
    release: () => end(true),
    drop: () => end(false),
  };
}
