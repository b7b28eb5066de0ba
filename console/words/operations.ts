/** The texts of the pages of events, webhooks, notifications, jobs, status and audit. */

import type { AuditView } from "../../core/audit/read.ts";
import type { JobView } from "../../core/jobs/read.ts";
import type { NotificationView } from "../../core/notifications/read.ts";
import type { PlannedTask } from "../../core/status/status.ts";
import type { DeliveryView } from "../../core/webhooks/views.ts";

export interface OperationsWords {
  /** On an error page that the browser loads again. */
  retriedByItself: string;
  eventsPage: {
    title: string;
    resource: string;
    resourceId: string;
    number: string;
    cause: string;
    notification: string;
    noNotification: string;
    payment: string;
    data: string;
    dataHelp: string;
    noDeliveries: string;
    all: string;
  };
  webhooksPage: {
    add: string;
    edit: string;
    save: string;
    enable: string;
    disable: string;
    remove: string;
    removeEffect: string;
    url: string;
    urlHelp: string;
    description: string;
    events: string;
    eventsHelp: string;
    everyEvent: string;
    noEndpoints: string;
    failing: string;
    oldSecretUntil: string;
    reasons: Record<"requested" | "gone" | "failing", string>;
    statuses: Record<DeliveryView["status"], string>;
    response: string;
    answer: string;
    duration: string;
    nextAttempt: string;
    testResult: string;
    done: Record<"saved" | "enabled" | "disabled" | "removed" | "existed", string>;
  };
  notificationsPage: {
    reported: string;
    payment: string;
    noPayment: string;
    statusCode: string;
    sameOrder: string;
    replayHelp: string;
    payload: string;
    payloadHelp: string;
    statuses: Record<NotificationView["status"], string>;
    meanings: Record<NotificationView["status"], string>;
  };
  jobsPage: {
    updated: string;
    statuses: Record<JobView["status"], string>;
    schedule: string;
    runs: string;
    every: (minutes: number) => string;
    lastRun: string;
    nextRun: string;
    runStatuses: Record<PlannedTask["status"], string>;
    overdue: string;
    overdueHelp: string;
  };
  statusPage: {
    title: string;
    service: string;
    version: string;
    started: string;
    clock: string;
    accurate: string;
    inaccurate: string;
    clockOffset: string;
    loopDelay: string;
    rejected: string;
    takeover: string;
    leases: Record<"lock" | "time", string>;
    gateway: string;
    gatewayStates: Record<"ok" | "recovering" | "down", string>;
    reads: string;
    writes: string;
    environment: string;
    address: string;
    database: string;
    schema: string;
    pendingMigrations: string;
    connections: string;
    poolUse: (used: number, size: number) => string;
    queue: string;
    transport: string;
    onTime: string;
    what: string;
    count: string;
    oldest: string;
    age: (seconds: number) => string;
    backlog: {
      title: string;
      jobs: string;
      events: string;
      subscribers: string;
      webhooks: string;
      disabledEndpoints: string;
      notifications: string;
      failedNotifications: string;
      unknownPayments: string;
      unknownInvoices: string;
      unknownSubscriptions: string;
      ownerlessPayments: string;
      unrecognized: string;
    };
    failures: string;
    settings: string;
    settingsHelp: string;
  };
  auditPage: {
    title: string;
    actor: string;
    action: string;
    resource: string;
    resourceId: string;
    outcomes: Record<AuditView["outcome"], string>;
    noneOnPage: string;
  };
}
