/** A clock that a test controls. */

/** A clock that stands still until it is moved. */
export function standingClock(time = Date.now()) {
  return {
    now: () => time,
    pass: (ms: number) => void (time += ms),
    set: (at: string | Date) => void (time = new Date(at).getTime()),
  };
}
