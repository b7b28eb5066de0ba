/** A clock that changes only when the test changes it. */

export function manualClock(time = Date.now()) {
  return {
    now: () => time,
    advance: (ms: number) => void (time += ms),
    set: (at: string | Date) => void (time = new Date(at).getTime()),
  };
}
