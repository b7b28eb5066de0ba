/** Asks before an action. A form acts once, and only if the record is still as it was shown. */

import type { Child, FC } from "hono/jsx";
import { setTimeout as delay } from "node:timers/promises";
import { invalidField, ServiceError } from "../core/errors.ts";
import { isKeyUsed, type KeyDeps, type RequestKey } from "../core/idempotency/keys.ts";
import { replayHeader } from "../routes/shared/idempotency.ts";
import type { ConsoleContext, Form } from "./base.tsx";
import { FormToken, Frame } from "./frame.tsx";
import { Facts } from "./payment.tsx";
import type { SignedInView } from "./session.ts";

export interface ActionForm {
  /** Chosen when the form is rendered: a form that is sent twice acts once. */
  idempotencyKey: string;
  /** What the form showed of the record. If that has changed, the form does nothing. */
  shown: string;
}

export function newForm(shown: string): ActionForm {
  return { idempotencyKey: crypto.randomUUID(), shown };
}

/** Throws if the form has no key: without one it could act twice. */
export function readForm(sent: Form): ActionForm {
  return { idempotencyKey: readKey(sent), shown: String(sent.shown ?? "") };
}

export function readKey({ key }: Form): string {
  if (typeof key === "string" && /^[0-9a-f-]{36}$/.test(key)) return key;
  throw invalidField("key", "is missing; open the form again");
}

/** Throws if the record has changed since the form showed it, unless this form has changed it. */
export async function requireUnchanged(
  deps: KeyDeps,
  { session, words }: SignedInView,
  requestKey: RequestKey,
  { shown, current }: { shown: string; current: string },
): Promise<void> {
  if (shown === current || await isKeyUsed(deps, session.caller, requestKey)) return;
  throw new ServiceError("invalid_state", { detail: words.recordChanged });
}

/** How long the second request of a double click waits for the first one. */
const WAIT_MS = 250;
const MAX_WAITS = 20;

/** A double click sends the form twice: both requests get the result of the first one. */
export async function actOnce<T>(act: () => Promise<T>): Promise<T> {
  for (let waits = 0;; waits++) {
    try {
      return await act();
    } catch (error) {
      const isRunning = error instanceof ServiceError && error.code === "idempotency_in_progress";
      if (!isRunning || waits === MAX_WAITS) throw error;
      await delay(WAIT_MS);
    }
  }
}

/** The page after an action. The audit log does not record a repeated request again. */
export function redirectAfter(c: ConsoleContext, path: string, isReplayed: boolean): Response {
  for (const [name, value] of Object.entries(replayHeader(isReplayed))) c.header(name, value);
  return c.redirect(path, 303);
}

interface ConfirmProps {
  view: SignedInView;
  title: string;
  /** The path of the form in the console. */
  path: string;
  /** The path of the page before. */
  back: string;
  error: string | null;
  facts: Record<string, Child>;
  /** What the action does. */
  effects: string[];
  form: ActionForm;
  /** Whether the action takes something away. */
  isDangerous: boolean;
  /** Further fields of the form. */
  children?: Child;
}

/** Says what the action does. Shown again with the error if the action fails. */
export const ConfirmPage: FC<ConfirmProps> = (props) => {
  const { view, title, path, back, error, facts, effects, form, isDangerous, children } = props;
  const { root, words } = view;
  return (
    <Frame view={view} title={title} path={path}>
      <section class="card narrow">
        <h1>{title}</h1>
        {error && <p role="alert" class="error">{error}</p>}
        <Facts facts={facts} />
        <ul class="effects">{effects.map((effect) => <li>{effect}</li>)}</ul>
        <form method="post" action={root + path}>
          <FormToken view={view} />
          <input type="hidden" name="key" value={form.idempotencyKey} />
          <input type="hidden" name="shown" value={form.shown} />
          {children}
          <div class="actions">
            <button type="submit" class={isDangerous ? "danger" : "primary"}>{title}</button>
            <a class="button" href={root + back}>{words.back}</a>
          </div>
        </form>
      </section>
    </Frame>
  );
};
