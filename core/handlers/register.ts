/**
 * Registers the in-process handlers of this instance, so that they get every event: also those
 * that another instance wrote, or a command such as `deno task run`, which may not have these
 * handlers.
 */

import { registerHandlers } from "../../db/events/handlers.ts";
import type { Service } from "../service.ts";
import type { RegisteredHandler } from "./events.ts";

/** Less than the minute after which an instance counts as stopped (`isStillRegistered`). */
const REPEAT_MS = 20_000;

/** Registers the handlers, and repeats this until disposal. */
export async function keepRegistered(
  { database, log }: Pick<Service, "database" | "log">,
  handlers: readonly RegisteredHandler[],
): Promise<AsyncDisposable> {
  const handled = handlers.flatMap(({ task, names }) =>
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
