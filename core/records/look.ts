/** Asks the gateway how a record stands, until its answer is the latest there is. */

/** An answer that others overtook is asked for again, but not for ever. */
const MAX_LOOKS = 3;

export interface Seen<R> {
  record: R;
  /** It is another by now than the one that was asked about, so that the answer may be an old one. */
  isOvertaken: boolean;
}

export async function look<R, A, S extends Seen<R>>(
  known: R,
  ask: (current: R) => Promise<A>,
  hear: (current: R, answer: A) => Promise<S>,
): Promise<S & { answer: A }> {
  for (let looks = 1, current = known;; looks++) {
    const answer = await ask(current);
    const seen = await hear(current, answer);
    if (!seen.isOvertaken || looks >= MAX_LOOKS) return { ...seen, answer };
    current = seen.record;
  }
}
