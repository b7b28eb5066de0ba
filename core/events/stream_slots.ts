/** Counts the open event streams of all instances, if they share their limits. */

import { DatabaseUnavailable } from "../../db/connection/database.ts";
import { addOpenStream, deleteOpenStreams } from "../../db/events/open_streams.ts";
import type { Service } from "../service.ts";

export interface StreamSlots extends AsyncDisposable {
  /**
   * Takes a slot; `own` is the number of other streams of the user. The id is null if there is no
   * room. Null instead: the database cannot say, so that only the limits of this instance apply.
   */
  take(userId: string): Promise<{ id: string | null; own: number } | null>;
  release(id: string): void;
}

/** The pause after a failed release. */
const RETRY_MS = 1_000;

export function createStreamSlots(
  { database, thisInstance, log }: Pick<Service, "database" | "thisInstance" | "log">,
  limits: { perCaller: number; total: number },
): StreamSlots {
  const ended = new Set<string>();
  let releasing: Promise<void> | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  function release(id: string): void {
    ended.add(id);
    clearTimeout(timer);
    releasing ??= releaseAll().finally(() => releasing = null);
  }

  async function releaseAll(): Promise<void> {
    while (ended.size > 0) {
      const ids = [...ended];
      try {
        await database.query((sql) => deleteOpenStreams(sql, ids), "delete open streams");
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) log.error("stream_release_failed", error);
        // When the instance ends, its streams no longer count.
        if (!isClosed) timer = setTimeout(() => release(ids[0]!), RETRY_MS);
        return;
      }
      for (const id of ids) ended.delete(id);
    }
  }

  return {
    async take(userId) {
      const holder = thisInstance.token();
      if (holder === null) return null;
      const id = crypto.randomUUID();
      try {
        const { own, is_added } = await database.transaction(
          (sql) => addOpenStream(sql, { id, holder, userId, ...limits }),
          "add open stream",
        );
        return { id: is_added ? id : null, own };
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        // The transaction may have been committed.
        release(id);
        return null;
      }
    },
    release,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearTimeout(timer);
      await releasing;
    },
  };
}
