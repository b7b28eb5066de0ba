/** `Service`: what the operations of the service work with. The program creates it at its start. */

import type { Database } from "../db/connection/database.ts";
import type { ThisInstance } from "../db/connection/instance_lock.ts";
import type { EventWithHandlers } from "../db/events/publication.ts";
import type { DueJob, NewJob } from "../db/jobs/jobs.ts";
import type { KeyReleases } from "../db/records/key_releases.ts";
import type { Config, RecheckConfig, RetentionDays } from "./config/config.ts";
import type { Logo } from "./config/logo.ts";
import type { GatewayClient } from "./gateway/client.ts";
import type { EndpointRules } from "./posting/endpoint_url.ts";
import type { Poster } from "./posting/post.ts";
import type { Links } from "./secrets/links.ts";
import type { DeriveId } from "./secrets/derived_ids.ts";
import { createSecretBox, type SecretBox } from "./secrets/secret_box.ts";
import type { Log } from "./telemetry/log.ts";
import type { Clock } from "./time/clock.ts";
import type { ClockCheck } from "./time/clock_check.ts";

export interface Service {
  database: Database;
  /** Not the URL of a pooler in transaction mode: LISTEN and locks need their own connection. */
  databaseUrl: string;
  /** This instance, as the leases of its idempotency keys and jobs name it. */
  thisInstance: ThisInstance;
  keyReleases: KeyReleases;
  gateway: GatewayClient;
  /**
   * The same gateway with a limit of its own, so that work for which no caller waits does not delay
   * callers. Tasks have it as `gateway`, too.
   */
  background: GatewayClient;
  /** The service's time, which is the database's (`service_clock.ts`). */
  clock: Clock;
  /** Shows whether the service can decide by time. */
  clockCheck: ClockCheck;
  log: Log;
  jobQueue: JobQueue;
  /** Event handlers in this process. */
  events: EventHandlers;
  waker: EventWaker;
  /** Sends webhooks. */
  poster: Poster;
  webhookRules: EndpointRules;
  /** Encrypts card tokens of queued charges, and the secrets of webhook endpoints. */
  secrets: SecretBox;
  /** For how many days finished rows and waiting deliveries are kept. */
  keep: RetentionDays;
  recheck: RecheckConfig;
  /** Which notifications the gateway has to confirm (the setting NOTIFICATION_CONFIRM). */
  notificationConfirm: Config["notificationConfirm"];
  /** Links to the pages for customers. */
  links: Links;
  /** Ids that follow from idempotency keys. */
  deriveId: DeriveId;
  /** When the database was restored from a backup for the last time; null: never. */
  restoredAt: Date | null;
  merchant: Config["merchant"];
  /** The image in the merchant's logo file. */
  logo: Logo | null;
  /** The payment methods of new invoices. */
  invoicePayments: readonly string[];
  /** True only in the embedded default. */
  acceptDevelopmentKeys: boolean;
  /** The caller whose request makes the changes; missing: a task or notification makes them. */
  actor?: string;
}

/** The members of `Service` that come from the settings. */
export function settingsOf(config: Config) {
  const { keep, recheck, notificationConfirm, invoicePayments, merchant } = config;
  return {
    keep,
    recheck,
    notificationConfirm,
    invoicePayments,
    merchant,
    acceptDevelopmentKeys: config.isEmbeddedDefault,
    webhookRules: { allowPrivate: config.webhookAllowPrivate },
    secrets: createSecretBox(config.gateway.serverKey),
  };
}

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
