/** The sandbox's own clock: it can be moved forward, and can run faster than the world's. */

export interface Clock {
  now(): number;
  /** Jumps forward; the past is not open. */
  set(to: number): void;
  /** How long the world has to wait until it is `at` here. */
  realDelay(at: number): number;
}

export interface ClockOptions {
  /** How far ahead of the world's it stands. */
  ahead?: number;
  /** Seconds that pass here in one of the world's. */
  speed?: number;
  world?: () => number;
}

export function createClock({ ahead = 0, speed = 1, world = Date.now }: ClockOptions = {}): Clock {
  let base = { world: world(), here: world() + ahead };

  const now = () => Math.floor(base.here + (world() - base.world) * speed);
  return {
    now,
    set(to) {
      if (to > now()) base = { world: world(), here: to };
    },
    realDelay: (at) => Math.max(0, (at - now()) / speed),
  };
}
