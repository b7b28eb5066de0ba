/** The interfaces that publish a committed change: jobs to a queue, events to their readers. */

import type { EventWithHandlers } from "../../db/events/publication.ts";
import type { DueJob, NewJob } from "../../db/jobs/jobs.ts";
import { newId } from "../ids.ts";

/** Wakes workers. If a message is lost, they find the job within a second of its `run_at`. */
export interface JobQueue extends AsyncDisposable {
  /** Call it after the job's row is committed, never before. Never throws. */
  enqueue(job: DueJob): void;
}

/** Wakes the position publisher after a commit of events, and the jobs of due deliveries. */
export interface EventWaker extends AsyncDisposable {
  /**
   * Wakes the position publisher (core/events/position_publisher.ts), on this or another instance,
   * because events were committed. Returns at once. If it fails, polling finds the events.
   */
  wakePublisher(): void;
  /** Registers the position publisher of this instance, which is woken first. */
  usePositionPublisher(positionPublisher: PositionPublisher): void;
  /**
   * Wakes the delivery jobs of these endpoints. Returns at once. If it fails, the schedule finds
   * the due deliveries.
   */
  wakeEndpoints(endpointIds: Iterable<string>): void;
  /** Tells the running delivery job of an endpoint that the endpoint was changed. */
  signalEndpointChange(endpointId: string): void;
  /**
   * Registers the running delivery job of an endpoint; no other job is woken for it until disposal.
   */
  registerDeliveryJob(endpointId: string, job: RunningDeliveryJob): Disposable;
}

/** Assigns positions to committed events, on one instance at a time. */
export interface PositionPublisher extends AsyncDisposable {
  /** Looks for new events now; false: another instance assigns the positions. */
  wake(): boolean;
}

export interface RunningDeliveryJob {
  onDelivery(): void;
  onChange(): void;
}

/** The event handlers of this process. */
export interface EventHandlers {
  /** The tasks that deliver events of this name. They are stored with the event. */
  tasksFor(eventName: string): string[];
  /**
   * Returns the jobs that deliver these events. Insert them in the transaction that assigns the
   * positions.
   */
  jobsFor(events: readonly EventWithHandlers[]): NewJob[];
}

export interface JobSubject {
  id: string;
  /** The owner of the job; null: visible only to staff and viewers. */
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
