/** `createEventWatches`: wakes open pages when their checkout or payment has a new event. */

import { waitAtMost } from "../../concurrency/deadlines.ts";
import type { PositionedEvent } from "../../db/events/positions.ts";
import { ServiceError } from "../errors.ts";
import type { Follower, Following } from "./follower.ts";

export interface EventWatch {
  /**
   * Resolves after an event that was published since the last call, or after this time; false if
   * the watch was stopped.
   */
  next(ms: number): Promise<boolean>;
  /** Whether the page was left, or the service stops. */
  isStopped(): boolean;
  stop(): void;
}

export interface EventWatches {
  /** Each event of the record that is published after this resolves wakes the watch. */
  open(recordId: string): Promise<EventWatch>;
  stopAll(): void;
}

/** More than the devices of one customer; each takes a connection. */
const MAX_PER_RECORD = 20;

const RETRY_SECONDS = 10;

interface OpenWatch {
  isStopped: boolean;
  /** Resolved by an event and by `stop`. */
  woken: PromiseWithResolvers<void>;
}

export function createEventWatches(follower: Follower): EventWatches {
  const watches = new Map<string, Set<OpenWatch>>();
  let following: Following | null = null;

  function onEvent(event: PositionedEvent): void {
    for (const id of idsOf(event)) {
      for (const { woken } of watches.get(id) ?? []) woken.resolve();
    }
  }

  function stop(recordId: string, watch: OpenWatch): void {
    watch.isStopped = true;
    watch.woken.resolve();
    const others = watches.get(recordId);
    others?.delete(watch);
    if (others?.size === 0) watches.delete(recordId);
    if (watches.size > 0) return;
    following?.stop();
    following = null;
  }

  return {
    async open(recordId) {
      const others = watches.get(recordId) ?? new Set();
      requireRoom(others.size);
      const watch: OpenWatch = { isStopped: false, woken: Promise.withResolvers() };
      watches.set(recordId, others.add(watch));
      following ??= follower.follow(onEvent);
      try {
        await following.poll();
      } catch (error) {
        stop(recordId, watch);
        throw error;
      }
      return {
        async next(ms) {
          await waitAtMost(ms, watch.woken.promise);
          if (!watch.isStopped) watch.woken = Promise.withResolvers();
          return !watch.isStopped;
        },
        isStopped: () => watch.isStopped,
        stop: () => stop(recordId, watch),
      };
    },
    stopAll() {
      for (const [recordId, open] of watches) {
        for (const watch of open) stop(recordId, watch);
      }
    },
  };
}

/** The event's record and, if it is a payment of a checkout, the checkout. */
function idsOf({ resource_id, data }: PositionedEvent): string[] {
  const { checkout_id } = data as { checkout_id?: string | null };
  return typeof checkout_id === "string" ? [resource_id, checkout_id] : [resource_id];
}

function requireRoom(openCount: number): void {
  if (openCount < MAX_PER_RECORD) return;
  throw new ServiceError("rate_limited", {
    detail: `${openCount} pages wait for this payment, which is the limit. Close one of them.`,
    headers: { "Retry-After": String(RETRY_SECONDS) },
  });
}
