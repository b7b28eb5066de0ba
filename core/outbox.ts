/** The interfaces that publish a committed change: jobs to a queue, events to their readers. */

import type { GatewayEvent } from "../db/events.ts";
import type { DueJob, NewJob } from "../db/jobs.ts";
import { newId } from "./ids.ts";

/**
 * Passes jobs to a worker. Call it after the job's row is committed, never before. If a message is
 * lost, `sweepJobs` finds the row within a minute of its `run_at`.
 */
export interface JobQueue extends AsyncDisposable {
  /** Never throws. */
  enqueue(job: DueJob): void;
}

/** Notifies the readers of events outside this process after the events are committed. */
export interface EventPublisher extends AsyncDisposable {
  /**
   * Notifies the position publisher (core/events/position_publisher.ts) of new events, and wakes the
   * delivery jobs of these endpoints. Returns at once. If it fails, the position publisher finds the
   * events by polling, and `sweepDeliveries` finds the due deliveries.
   */
  publish(endpointIds: Iterable<string>): void;
  /** Notifies the running delivery job of an endpoint that the endpoint was changed. */
  publishEndpointChange(endpointId: string): void;
  /** Registers the running delivery job of an endpoint; no other job is woken for it until disposal. */
  subscribe(endpointId: string, subscriber: EndpointSubscriber): Disposable;
}

export interface EndpointSubscriber {
  onDelivery(): void;
  onChange(): void;
}

/** The subscribers of this process. */
export interface EventSubscribers {
  /** Returns the jobs that deliver these events. Write them in the transaction of the events. */
  jobsFor(events: GatewayEvent[], now: Date): NewJob[];
}

export interface JobSubject {
  id: string;
  /** The owner of the job; null: visible to staff only. */
  user_id: string | null;
}

export function newJob(
  task: string,
  { id, user_id }: JobSubject,
  payload: object,
  { runAt, now }: { runAt: Date; now: Date },
): NewJob {
  return { id: newId(now), task, subject_id: id, payload, user_id, run_at: runAt, created_at: now };
}
