/** `retryJob`: has a job that was given up run again, as if it had never been tried. */

import { codeOf, type Database, UNIQUE_VIOLATION } from "../../db/database.ts";
import { type GatewayJob, queueAgain } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import { requireStaff } from "../auth/staff.ts";
import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import type { Carrier } from "./carrier.ts";
import { find } from "./read.ts";
import { type JobView, viewJob } from "./views.ts";

export interface RetryDeps {
  database: Database;
  carrier: Carrier;
  clock: Clock;
}

export async function retryJob(deps: RetryDeps, caller: Caller, id: string): Promise<JobView> {
  requireStaff(caller);
  const job = await queue(deps, id) ?? refuse(await find(deps, id));
  deps.carrier.carry(job);
  return viewJob(job);
}

/** Null: it is not there, or in no state for it. */
async function queue({ database, clock }: RetryDeps, id: string): Promise<GatewayJob | null> {
  try {
    const now = new Date(clock());
    return await database.query((sql) => queueAgain(sql, id, now), "queue job again");
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    throw invalid("Another job of the same task waits for the same thing already.");
  }
}

function refuse({ status }: GatewayJob): never {
  throw invalid(
    status === "failed"
      ? "The card token it needs was erased when it ended: ask for the charge anew."
      : `Only a failed job can be run again; this one is ${status}.`,
  );
}

function invalid(detail: string): ServiceError {
  return new ServiceError("invalid_state", { detail });
}
