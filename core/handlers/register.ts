/**
 * Registers the in-process handlers of this instance, so that they get every event: also those
 * that another instance wrote, or a command such as `deno task run`, which may not have these
 * handlers.
 */

import type { Database } from "../../db/connection/database.ts";
import { registerHandlers } from "../../db/events/handlers.ts";
import type { Log } from "../telemetry/log.ts";
import type { Events } from "./events.ts";

/** Less than the minute after which an instance counts as stopped (`isStillRegistered`). */
const REPEAT_MS = 20_000;

export interface RegisterDeps {
  database: Database;
  events: Events;
  log: Log;
}

/** Registers the handlers, and repeats this until disposal. */
export async function keepRegistered(
  { database, events, log }: RegisterDeps,
): Promise<AsyncDisposable> {
  const handled = events.close().flatMap(({ task, names }) =>
    names.map((event_name) => ({ task, event_name }))
  );
  const register = () =>
    database.query((sql) => registerHandlers(sql, handled), "register handlers");
  if (handled.length === 0) return { [Symbol.asyncDispose]: () => Promise.resolve() };
  await register();
  let repetition = Promise.resolve();
  const timer = setInterval(() => {
    repetition = register().catch((error) => log.error("subscribers_not_registered", error));
  }, REPEAT_MS);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await repetition;
    },
  };
}
