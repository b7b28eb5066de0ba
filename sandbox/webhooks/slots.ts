/**
 * Limits concurrent deliveries, for each receiver and in total. A receiver that does not respond
 * uses only its own slots, so that webhooks to other receivers do not wait for it.
 */

export interface Slots {
  /** Waits for a slot; resolves with a function that frees it. */
  acquire(url: string): Promise<() => void>;
}

export function createSlots(
  { perReceiver, total }: Record<"perReceiver" | "total", number>,
): Slots {
  const inUse = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();
  let all = 0;

  function canStart(receiver: string): boolean {
    return all < total && (inUse.get(receiver) ?? 0) < perReceiver;
  }

  function start(receiver: string) {
    all++;
    inUse.set(receiver, (inUse.get(receiver) ?? 0) + 1);
  }

  function end(receiver: string) {
    all--;
    const left = inUse.get(receiver)! - 1;
    if (left > 0) inUse.set(receiver, left);
    else inUse.delete(receiver);
    for (const [next, queue] of waiting) {
      while (queue.length > 0 && canStart(next)) {
        // The slot is taken here, so that no later delivery takes it.
        start(next);
        queue.shift()!();
      }
      if (queue.length === 0) waiting.delete(next);
    }
  }

  return {
    async acquire(url) {
      const receiver = URL.parse(url)?.origin ?? url;
      if (canStart(receiver)) start(receiver);
      else {
        await new Promise<void>((resolve) => {
          const queue = waiting.get(receiver);
          if (queue) queue.push(resolve);
          else waiting.set(receiver, [resolve]);
        });
      }
      return () => end(receiver);
    },
  };
}
