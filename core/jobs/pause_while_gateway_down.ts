/** Keeps what nobody waits for from asking a gateway that is down, or wants to be left alone. */

import { GatewayError, isUnansweredOrRateLimited } from "../gateway/errors.ts";
import type { RecordDeps } from "../records/record.ts";
import { PostponeJob, type Task } from "./task.ts";

/** Long enough for the breaker to let somebody try again, and for that one to come back. */
const DOWN_MS = 60_000;

/** For how long nothing should be asked in the background; 0: the gateway is there. */
export function gatewayPauseMs({ gateway }: Pick<RecordDeps, "gateway">): number {
  return Math.max(gateway.rateLimitPauseMs(), gateway.breakerState() === "open" ? DOWN_MS : 0);
}

/** The task, put off while the gateway is to rest: that is no failure of the job. */
export function pauseWhileGatewayDown(
  deps: Pick<RecordDeps, "gateway" | "clock">,
  task: Task,
): Task {
  const putOff = (ms: number) => new PostponeJob(new Date(deps.clock() + ms));
  return {
    ...task,
    async run(job, context) {
      const rest = gatewayPauseMs(deps);
      if (rest > 0) throw putOff(rest);
      try {
        return await task.run(job, context);
      } catch (error) {
        const rest = isNoAnswer(error) ? gatewayPauseMs(deps) : 0;
        throw rest > 0 ? putOff(rest) : error;
      }
    },
  };
}

/** Verbs tell of it in words of their own. */
function isNoAnswer(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof GatewayError) return isUnansweredOrRateLimited(each);
  }
  return false;
}
