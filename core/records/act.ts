/** What actions on records have in common: one call that moves the record on. */

import type { Caller } from "../auth/caller.ts";
import { GatewayError, type GatewayOutcome } from "../gateway/errors.ts";
import type { GatewayResponse } from "../gateway/responses.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { answerAgain } from "./answer_again.ts";
import { changeRecord } from "./change.ts";
import { UNANSWERED_CHECK_MS } from "./check_times.ts";
import type { RecordDeps } from "./deps.ts";
import { endUnknown } from "./end_unknown.ts";
import { keepingErrors } from "./keeping_errors.ts";
import { answeredWith, type Asker } from "./keyed_change.ts";
import type { Change, GatewayRecord, Kind } from "./kind.ts";
import { gatewayIsDown } from "./problems.ts";
import { findOwn } from "./read.ts";

export interface Action<R extends GatewayRecord, A> {
  /** Throws where the record's state does not allow it. */
  check(record: R): void;
  /** The record as it stands at the gateway: one that was never answered has to be found first. */
  ready(record: R): Promise<R>;
  /** What is written before the call, besides when to look what became of it. */
  mark?(record: R): Partial<R>;
  call(record: R): Promise<GatewayResponse<A>>;
  /** Takes over what the gateway did; null: it does not say. Throws where it says no. */
  take(record: R, answer: GatewayResponse<A>, key: Change<R>["key"]): Promise<R | null>;
  /** The gateway does not allow it, for the record stands otherwise there than we believed. */
  isStateRefusal(error: GatewayError): boolean;
  /** The record as the gateway has it now. */
  refresh(record: R, outcome: GatewayOutcome): Promise<R>;
  /** Whether a record already is what the action would make of it. */
  isIn(record: R): boolean;
  /** Takes back what was marked, where the gateway refused for certain. */
  unmark?(record: R): Promise<R>;
}

interface Performance<R extends GatewayRecord, A> {
  kind: Kind<R>;
  action: Action<R, A>;
  asker: Asker;
  /** The call may have been made before, and done what it was to do. */
  isResumed: boolean;
}

export async function act<R extends GatewayRecord, A, View extends object>(
  deps: RecordDeps,
  kind: Kind<R, View>,
  caller: Caller,
  id: string,
  attempt: KeyedAttempt | null,
  drawUp: (record: R) => Action<R, A>,
): Promise<Outcome<View>> {
  const known = await findOwn(deps, kind, caller, id);
  const action = drawUp(known);
  const begun = attempt && await keys.beginKeyed(deps, caller, attempt, id);
  if (begun && "body" in begun) return { body: begun.body as View, isReplayed: true };
  const asker = { key: begun?.key ?? null };
  const done = await keepingErrors(deps, kind, asker, known, async () => {
    // Whoever goes on with a request does not know how far it got.
    const isResumed = Boolean(begun?.earlier);
    const record = isResumed ? await action.refresh(known, "unknown") : known;
    if (isResumed && action.isIn(record)) return await answer(deps, kind, asker, record);
    return await perform(deps, { kind, action, asker, isResumed }, record);
  });
  return { body: kind.view(done), isReplayed: false };
}

async function perform<R extends GatewayRecord, A>(
  deps: RecordDeps,
  performance: Performance<R, A>,
  known: R,
): Promise<R> {
  const { kind, action, asker } = performance;
  action.check(known);
  if (deps.gateway.breakerState() === "open") throw gatewayIsDown();
  const record = await action.ready(known);
  action.check(record);
  const marked = await mark(deps, performance, record);
  let said: GatewayResponse<A>;
  try {
    said = await action.call(marked);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return await settle(deps, performance, marked, error);
  }
  const key = answeredWith<R>(asker, kind.view, new Date(deps.clock()));
  const taken = await action.take(marked, said, key);
  if (taken) return taken;
  const problem = kind.problems.unexplained(marked, said.statusCode);
  throw await endUnknown(deps, kind, asker, marked, problem);
}

/** Written before the call: should this process die in it, somebody will look. */
async function mark<R extends GatewayRecord, A>(
  deps: RecordDeps,
  { kind, action }: Performance<R, A>,
  record: R,
): Promise<R> {
  const checkAt = new Date(deps.clock() + UNANSWERED_CHECK_MS);
  return await changeRecord(deps, kind, record, (current) => {
    // It may be another by now.
    action.check(current);
    const { check_at } = current;
    const isEarlier = check_at !== null && check_at < checkAt;
    return {
      set: { ...action.mark?.(current), check_at: isEarlier ? check_at : checkAt } as Partial<R>,
    };
  });
}

async function settle<R extends GatewayRecord, A>(
  deps: RecordDeps,
  { kind, action, asker, isResumed }: Performance<R, A>,
  record: R,
  error: GatewayError,
): Promise<R> {
  const { gatewayProblem, invalidState } = kind.problems;
  const isOfState = action.isStateRefusal(error);
  const isCertain = error.outcome === "refused" && (!isResumed || isOfState);
  if (!isCertain) {
    throw await endUnknown(deps, kind, asker, record, gatewayProblem(error, record, "unknown"));
  }
  const left = await action.unmark?.(record) ?? record;
  if (!isOfState) throw gatewayProblem(error, left);
  // It stands otherwise than we believed.
  const now = await action.refresh(left, isResumed ? "unknown" : "refused");
  if (isResumed && action.isIn(now)) return await answer(deps, kind, asker, now);
  throw invalidState(now, `The gateway does not allow it: ${error.message}`);
}

async function answer<R extends GatewayRecord>(
  deps: RecordDeps,
  kind: Kind<R>,
  asker: Asker,
  record: R,
): Promise<R> {
  await answerAgain(deps, kind, asker, record);
  return record;
}
