/**
 * Sends a new record of which the gateway cannot be asked whether it has it, and brings it to one of
 * its ends.
 */

import type { ServiceError } from "../errors.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { GatewayResponse } from "../gateway/responses.ts";
import { answerAgain } from "./answer_again.ts";
import type { Creation } from "./create.ts";
import type { RecordDeps } from "./deps.ts";
import { endUnknown } from "./end_unknown.ts";
import { answeredWith, type Asker, failedWith } from "./keyed_change.ts";
import type { Change, GatewayRecord, Kind } from "./kind.ts";

export interface SentRecord extends GatewayRecord {
  status: string;
  /** When it was first sent to the gateway, or about to be. */
  sent_at: Date;
}

export interface Sending<R extends SentRecord, A> {
  /** For how long the gateway knows that it was asked before: then it makes one of two. */
  windowMs: number;
  call(record: R): Promise<GatewayResponse<A>>;
  /** Whether what it says is an answer to it. */
  isAnswer(record: R, answer: A): boolean;
  hear(record: R, answer: A, key: Change<R>["key"]): Promise<R>;
  hearRefusal(record: R, key: Change<R>["key"]): Promise<R>;
  /** Whether it refuses because the order is taken there. */
  isTaken?(error: GatewayError): boolean;
}

/** What one call may take; too late it must not come there. */
const CALL_MS = 20_000;

/** Afterwards the gateway would make another one, and it cannot be asked whether there is one. */
export function mayBeSentAgain<R extends SentRecord>(
  { sent_at }: R,
  { windowMs }: Pick<Sending<R, never>, "windowMs">,
  now: number,
): boolean {
  const since = now - sent_at.getTime();
  return since >= 0 && since < windowMs - CALL_MS;
}

/** How a creation sends what it wrote, and goes on with what an earlier request left. */
export function sendingBy<R extends SentRecord, A, View extends object>(
  deps: RecordDeps,
  kind: Kind<R, View>,
  sending: Sending<R, A>,
): Pick<Creation<R, View>, "send" | "finish" | "isRefused"> {
  return {
    send: async (record, asker) =>
      kind.view(await sendCreation(deps, kind, sending, { asker, isSentBefore: false }, record)),
    isRefused: ({ status }) => status === "failed",
    async finish(record, asker) {
      const isAnswered = record.status !== "pending";
      if (isAnswered || !mayBeSentAgain(record, sending, deps.clock())) {
        return await answerAgain(deps, kind, asker, record, isAnswered);
      }
      return kind.view(
        await sendCreation(deps, kind, sending, { asker, isSentBefore: true }, record),
      );
    },
  };
}

interface Attempt {
  asker: Asker;
  /** An earlier time may have gone through, whatever becomes of this one. */
  isSentBefore: boolean;
}

export async function sendCreation<R extends SentRecord, A>(
  deps: RecordDeps,
  kind: Kind<R>,
  sending: Sending<R, A>,
  attempt: Attempt,
  record: R,
): Promise<R> {
  const { asker } = attempt;
  let answer: GatewayResponse<A>;
  try {
    answer = await sending.call(record);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw await settle(deps, kind, sending, attempt, record, error);
  }
  if (!sending.isAnswer(record, answer.body)) {
    const problem = kind.problems.unexplained(record, answer.statusCode);
    throw await endUnknown(deps, kind, asker, record, problem);
  }
  const key = answeredWith<R>(asker, kind.view, new Date(deps.clock()));
  return await sending.hear(record, answer.body, key);
}

/** How one ends that was not answered well; the problem, to be thrown. */
async function settle<R extends SentRecord, A>(
  deps: RecordDeps,
  kind: Kind<R>,
  { hearRefusal, isTaken }: Sending<R, A>,
  { asker, isSentBefore }: Attempt,
  record: R,
  error: GatewayError,
): Promise<ServiceError> {
  const { gatewayProblem, orderTaken } = kind.problems;
  if (error.outcome !== "refused" || isSentBefore) {
    const problem = gatewayProblem(error, record, "unknown");
    return await endUnknown(deps, kind, asker, record, problem);
  }
  const problem = isTaken?.(error) ? orderTaken(record, error) : gatewayProblem(error, record);
  await hearRefusal(record, failedWith(asker, problem, new Date(deps.clock())));
  return problem;
}
