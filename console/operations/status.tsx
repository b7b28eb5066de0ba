/** `/console/status/`: how the service is doing, its versions and its settings. */

import type { Child, FC } from "hono/jsx";
import { DOCTOR_PATH } from "../../core/attention/missing_notifications.ts";
import type { ShownSetting } from "../../core/config/describe.ts";
import { type DatabaseState, readDatabaseState } from "../../core/status/database_state.ts";
import {
  gatewayStateOf,
  MAX_COUNTED,
  readStatus,
  type StatusView,
} from "../../core/status/status.ts";
import { VERSION } from "../../openapi/document.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { Card, Facts, Label, shorten, Table, Time, type Tone } from "../shared/elements.tsx";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView, View } from "../shared/session.ts";

const PATH = "/status/";

export function addStatus({ service, router, signedIn, page }: ConsoleBase): void {
  const startedAt = new Date(service.clock());
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const status = await readStatus(service, view.session.caller, startedAt);
    const database = await readDatabaseState(service, view.session.caller);
    return page(c, <StatusPage {...{ view, status, database }} settings={service.settings} />);
  });
}

interface StatusProps {
  view: SignedInView;
  status: StatusView;
  database: DatabaseState;
  settings: ShownSetting[];
}

const StatusPage: FC<StatusProps> = ({ view, status, database, settings }) => {
  const { words } = view;
  return (
    <Frame view={view} title={words.statusPage.title} path={PATH}>
      <h1>{words.statusPage.title}</h1>
      <MissingNotifications view={view} status={status} />
      <Contradictions view={view} status={status} />
      <div class="columns even">
        <Service view={view} status={status} />
        <Gateway view={view} status={status} settings={settings} />
        <DatabaseFacts view={view} status={status} database={database} />
        <Queue view={view} status={status} settings={settings} />
      </div>
      <Backlog view={view} status={status} />
      <Failures view={view} status={status} />
      <Settings view={view} settings={settings} />
    </Frame>
  );
};

interface PartProps {
  view: View;
  status: StatusView;
}

/** Shown only while notifications do not arrive. */
const MissingNotifications: FC<PartProps> = ({ view, status }) => {
  const { is_detected, since, last_notification_at, likely_reason, ...counts } =
    status.missing_notifications;
  if (!is_detected) return null;
  const texts = view.words.statusPage.missingNotifications;
  return (
    <Card id="missing-notifications" title={texts.title}>
      <p>{texts.explanation(counts.without_notification, counts.paid_payments)}</p>
      <Facts
        facts={{
          [texts.since]: <Time view={view} at={since} />,
          [texts.lastNotification]: <Time view={view} at={last_notification_at} />,
          [texts.likelyReason]: likely_reason && texts.reasons[likely_reason],
        }}
      />
      <p>
        <a href={view.root + DOCTOR_PATH}>{texts.doctor}</a>
      </p>
    </Card>
  );
};

/** Shown only if there are some. */
const Contradictions: FC<PartProps> = ({ view, status }) => {
  const { count, examples } = status.contradictions;
  if (count === 0) return null;
  const { words } = view;
  const texts = words.statusPage.contradictions;
  return (
    <Card id="contradictions" title={texts.title}>
      <p>{texts.explanation}</p>
      <Table
        label={texts.title}
        class="cards"
        columns={[texts.record, texts.invariant, texts.foundAt]}
      >
        {examples.map(({ resource, resource_id, invariant, found_at }) => (
          <tr>
            <td>
              {resource === "statistics"
                ? texts.resources.statistics
                : (
                  <a href={`${view.root}/${resource}s/${resource_id}/`}>
                    {texts.resources[resource]} {shorten(resource_id)}
                  </a>
                )}
            </td>
            <td>
              <code>{invariant}</code>
            </td>
            <td>
              <Time view={view} at={found_at} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
};

const Service: FC<PartProps> = ({ view, status }) => {
  const { statusPage } = view.words;
  const { clock, load } = status;
  return (
    <Card id="service" title={statusPage.service}>
      <Facts
        facts={{
          [statusPage.version]: VERSION,
          Deno: Deno.version.deno,
          [statusPage.started]: <Time view={view} at={status.started_at} />,
          [statusPage.clock]: (
            <Label tone={clock.is_accurate ? "good" : "bad"}>
              {clock.is_accurate ? statusPage.accurate : statusPage.inaccurate}
            </Label>
          ),
          [statusPage.loopDelay]: `${load.event_loop_delay_ms} ms`,
          [statusPage.rejected]: load.rejected_requests,
          [statusPage.takeover]: statusPage.leases[status.leases],
        }}
      />
    </Card>
  );
};

const GATEWAY_TONES: Record<ReturnType<typeof gatewayStateOf>, Tone> = {
  ok: "good",
  recovering: "wait",
  down: "bad",
};

const Gateway: FC<PartProps & { settings: ShownSetting[] }> = ({ view, status, settings }) => {
  const { statusPage } = view.words;
  const label = (breaker: StatusView["gateway"]) => {
    const state = gatewayStateOf(breaker);
    return <Label tone={GATEWAY_TONES[state]}>{statusPage.gatewayStates[state]}</Label>;
  };
  const { gateway_offset_seconds: offset } = status.clock;
  return (
    <Card id="gateway" title={statusPage.gateway}>
      <Facts
        facts={{
          [statusPage.reads]: label(status.gateway_reads),
          [statusPage.writes]: label(status.gateway_writes),
          [statusPage.environment]: valueOf(settings, "GATEWAY_ENV"),
          [statusPage.address]: valueOf(settings, "GATEWAY_BASE_URL"),
          [statusPage.clockOffset]: offset === null ? null : `${offset} s`,
        }}
      />
    </Card>
  );
};

const DatabaseFacts: FC<PartProps & { database: DatabaseState }> = (
  { view, status, database },
) => {
  const { statusPage } = view.words;
  const { version, newestMigration, pendingMigrations, pool } = database;
  return (
    <Card id="database" title={statusPage.database}>
      <Facts
        facts={{
          PostgreSQL: version,
          [statusPage.schema]: newestMigration && <code>{newestMigration}</code>,
          [statusPage.pendingMigrations]: pendingMigrations > 0
            ? <Label tone="wait">{pendingMigrations}</Label>
            : null,
          [statusPage.connections]: pool &&
            statusPage.poolUse(Math.min(pool.calls, pool.size), pool.size),
          [statusPage.clockOffset]: `${status.clock.database_offset_seconds} s`,
        }}
      />
    </Card>
  );
};

const Queue: FC<PartProps & { settings: ShownSetting[] }> = ({ view, status, settings }) => {
  const { root, words } = view;
  const { statusPage, jobsPage } = words;
  const overdue = status.schedule.filter(({ is_overdue }) => is_overdue);
  const jobsLink = (name: "queued" | "running" | "failed") => (
    <a href={`${root}/jobs/?status=${name}`}>{countText(status.jobs[name])}</a>
  );
  return (
    <Card id="queue" title={statusPage.queue}>
      <Facts
        facts={{
          [statusPage.transport]: valueOf(settings, "QUEUE"),
          [jobsPage.statuses.queued]: jobsLink("queued"),
          [jobsPage.statuses.running]: jobsLink("running"),
          [jobsPage.statuses.failed]: jobsLink("failed"),
          [jobsPage.schedule]: (
            <a href={`${root}/jobs/schedule/`}>
              {overdue.length === 0
                ? statusPage.onTime
                : `${jobsPage.overdue}: ${overdue.map(({ task }) => task).join(", ")}`}
            </a>
          ),
        }}
      />
    </Card>
  );
};

/** Work that waits, with the age of the oldest. */
const Backlog: FC<PartProps> = ({ view, status }) => {
  const { statusPage } = view.words;
  const { backlog } = statusPage;
  return (
    <Card id="backlog" title={backlog.title}>
      <Table
        label={backlog.title}
        class="cards"
        columns={[statusPage.what, statusPage.count, statusPage.oldest]}
        amounts={[1, 2]}
      >
        {backlogOf(view, status).map(([what, count, seconds]) => (
          <tr>
            <td>{what}</td>
            <td class="amount">{countText(count)}</td>
            <td class="amount">{seconds === null ? "–" : statusPage.age(seconds)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
};

/** What waits, how much of it, and the age of the oldest in seconds. */
type BacklogRow = [what: Child, count: number, seconds: number | null];

function backlogOf({ root, words }: View, status: PartProps["status"]): BacklogRow[] {
  const { jobs, events, outbox, webhooks, notifications, unanswered, ownerless, checkouts } =
    status;
  const { backlog } = words.statusPage;
  const link = (path: string, text: string) => <a href={root + path}>{text}</a>;
  return [
    [link("/jobs/?status=queued", backlog.jobs), jobs.queued, jobs.oldest_queued_seconds],
    [backlog.events, events.unpublished, events.oldest_unpublished_seconds],
    [backlog.handlers, outbox.waiting_deliveries, outbox.oldest_event_seconds],
    [link("/webhooks/", backlog.webhooks), webhooks.pending, webhooks.oldest_pending_seconds],
    [link("/webhooks/", backlog.disabledEndpoints), webhooks.disabled_endpoints, null],
    [
      link("/notifications/?status=received", backlog.notifications),
      notifications.received,
      notifications.oldest_received_seconds,
    ],
    [
      link("/notifications/?status=failed", backlog.failedNotifications),
      notifications.failed,
      null,
    ],
    [link("/payments/?outcome=unknown", backlog.unknownPayments), unanswered.payments, null],
    [link("/payments/?owner=none", backlog.ownerlessPayments), ownerless.paid_payments, null],
    [link("/checkouts/?alert=paid_twice", backlog.paidTwice), checkouts.paid_twice, null],
    [link("/checkouts/?alert=paid_late", backlog.paidLate), checkouts.paid_late, null],
    [backlog.unknownInvoices, unanswered.invoices, null],
    [backlog.unknownSubscriptions, unanswered.subscriptions, null],
    [
      <>
        {backlog.unrecognized}
        {status.unrecognized.examples.map(({ payment_id, gateway_status }) => (
          <>
            {" "}
            <a href={`${root}/payments/${payment_id}/`}>{gateway_status}</a>
          </>
        ))}
      </>,
      status.unrecognized.payments,
      null,
    ],
  ];
}

const Failures: FC<PartProps> = ({ view, status }) => {
  const { root, words } = view;
  const { last_failures } = status.jobs;
  if (last_failures.length === 0) return null;
  return (
    <Card id="failures" title={words.statusPage.failures}>
      <Table
        label={words.statusPage.failures}
        class="cards"
        columns={[words.jobsPage.updated, words.task, words.error]}
      >
        {last_failures.map(({ id, task, error, failed_at }) => (
          <tr>
            <td>
              <a href={`${root}/jobs/${id}/`}>
                <Time view={view} at={failed_at} />
              </a>
            </td>
            <td>{task}</td>
            <td class="text">{shorten(error ?? "")}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
};

const Settings: FC<{ view: View; settings: ShownSetting[] }> = ({ view, settings }) => {
  const { statusPage } = view.words;
  return (
    <Card id="settings" title={statusPage.settings}>
      <p class="help">{statusPage.settingsHelp}</p>
      <Facts
        facts={Object.fromEntries(settings.map(({ name, value }) => [name, value || "–"]))}
      />
    </Card>
  );
};

function valueOf(settings: ShownSetting[], name: ShownSetting["name"]): string | null {
  return settings.find((setting) => setting.name === name)?.value ?? null;
}

function countText(count: number): string {
  return count > MAX_COUNTED ? `> ${MAX_COUNTED}` : String(count);
}
