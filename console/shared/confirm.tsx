/** Asks before an action. A form acts once, and only if the record is still as it was shown. */

import type { Child, FC } from "hono/jsx";
import { setTimeout as delay } from "node:timers/promises";
import { invalidField, ServiceError } from "../../core/errors.ts";
import { isRunningOrDone, type RequestKey } from "../../core/idempotency/keys.ts";
import type { ActionRequest } from "../../core/records/act.ts";
import { fingerprintRequest, replayHeader } from "../../http/idempotency.ts";
import { recordError } from "../../http/problems/render.ts";
import type { Service } from "../../core/service.ts";
import type { ConsoleContext, Form } from "./base.tsx";
import { Facts, FormToken } from "./elements.tsx";
import { ConsoleProblem, explain, type FieldLabels } from "./explain.ts";
import { Frame } from "./frame.tsx";
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

/**
 * The form to show after a problem. After a refusal it gets a new key, because the old one only
 * repeats the refusal. After any other problem the action may have been performed, so the form
 * keeps its key: sent again, it acts at most once.
 */
export function formAfter<F extends ActionForm>(form: F, problem: ServiceError, shown: string): F {
  return problem.members.outcome === "refused"
    ? { ...form, ...newForm(shown) }
    : { ...form, shown };
}

/** What to show after a problem; `outcomeUnknown`: if the gateway may have performed the action. */
export function explainAction(
  view: SignedInView,
  problem: ServiceError,
  outcomeUnknown: string,
  labels?: FieldLabels,
): string {
  return problem.members.outcome === "unknown" ? outcomeUnknown : explain(view, problem, labels);
}

/**
 * The record as it is after a problem. If it cannot be read and the outcome of the action is
 * unknown, the page of the error must say that, so it gets the text of the problem.
 */
export async function readAfter<Item>(
  problem: ServiceError,
  problemText: string,
  reading: Promise<Item>,
): Promise<Item> {
  try {
    return await reading;
  } catch (error) {
    if (problem.members.outcome !== "unknown") throw error;
    throw new ConsoleProblem("unavailable", { detail: problemText, cause: error });
  }
}

/** Throws if the form has no key: without one it could act twice. */
export function readForm(sent: Form): ActionForm {
  return { idempotencyKey: readKey(sent), shown: String(sent.shown ?? "") };
}

export function readKey({ key }: Form): string {
  if (typeof key === "string" && /^[0-9a-f-]{36}$/.test(key)) return key;
  throw invalidField("key", "is missing; open the form again");
}

interface FormAction {
  /** The scope of the idempotency key. */
  scope: string;
  input: object;
  /** What a form would show of the record now. */
  current: string;
}

/**
 * Performs the action of a form. Throws if the record has changed since the form showed it. Returns
 * whether the form was sent before, and has acted then.
 */
export async function submitOnce(
  service: Service,
  view: SignedInView,
  { idempotencyKey: key, shown }: ActionForm,
  { scope, input, current }: FormAction,
  act: (request: Omit<ActionRequest, "id">) => Promise<{ isReplayed: boolean }>,
): Promise<boolean> {
  const requestKey = { key, ...fingerprintRequest(scope, input) };
  await requireUnchanged(service, view, requestKey, { shown, current });
  const request = { caller: view.session.caller, requestKey, shown };
  const { isReplayed } = await actOnce(() => act(request));
  return isReplayed;
}

/**
 * The problem of an action, for its page. Throws what has a page of its own, such as a missing
 * record.
 */
export function problemOf(c: ConsoleContext, thrown: unknown): ServiceError {
  if (!(thrown instanceof ServiceError) || thrown.code === "not_found") throw thrown;
  return recordError(thrown, c.env);
}

/**
 * Throws if the record has changed since the form showed it. A form that is being processed, or was
 * processed, is accepted: it gets the result of its first request. The record can still change
 * after this check, so the action checks it again when it writes (`requireAsShown`).
 */
async function requireUnchanged(
  service: Service,
  { session, words }: SignedInView,
  requestKey: RequestKey,
  { shown, current }: { shown: string; current: string },
): Promise<void> {
  if (shown === current || await isRunningOrDone(service, session.caller, requestKey)) return;
  throw new ConsoleProblem("invalid_state", { detail: words.recordChanged });
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
  /** What the gateway has not confirmed yet. */
  notices?: string[];
  /** What the action does. */
  effects: string[];
  /** Null: the action is not possible. */
  form: ActionForm | null;
  /** Whether the action takes something away. */
  isDangerous: boolean;
  /** Further fields of the form. */
  children?: Child;
}

/** Says what the action does. Shown again with the error if the action fails. */
export const ConfirmPage: FC<ConfirmProps> = (props) => {
  const { view, title, path, back, error, facts, notices = [], effects, form } = props;
  const { isDangerous, children } = props;
  const { root, words } = view;
  return (
    <Frame view={view} title={title} path={path}>
      <section class="card narrow">
        <h1>{title}</h1>
        {error && <p role="alert" class="error">{error}</p>}
        <Facts facts={facts} />
        {notices.map((notice) => <p class="notice">{notice}</p>)}
        {form === null ? <a class="button" href={root + back}>{words.back}</a> : (
          <>
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
          </>
        )}
      </section>
    </Frame>
  );
};
