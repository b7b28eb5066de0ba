/** What happened to a resource, newest first: sentences, and the entries of the API. */

import type { Child, FC } from "hono/jsx";
import type {
  TimelineAndPayments,
  TimelineEntry,
  TimelineView,
} from "../../core/reports/timelines.ts";
import { Card, Time } from "./elements.tsx";
import { paymentStatusName, rupiah } from "./format.ts";
import type { View } from "./session.ts";
import { sentencesOf } from "./timeline_sentences.ts";

/** Fewer than the API shows, so that a page stays small. */
export const TIMELINE_LIMITS = { entries: 25, payments: 20 };

interface TimelineProps {
  view: View;
  timeline: TimelineAndPayments;
}

export const Timeline: FC<TimelineProps> = ({ view, timeline: shown }) => {
  const { words } = view;
  const { timeline } = shown;
  return (
    <Card id="timeline" title={words.timeline.title}>
      <ol class="timeline">
        {sentencesOf(view, shown).toReversed().map(({ at, text }) => (
          <li>
            <span>{text}</span>
            <Time view={view} at={at} hasSeconds />
          </li>
        ))}
      </ol>
      <details id="technical-timeline">
        <summary>{words.timeline.technical}</summary>
        <p class="more">
          <a href={`${view.root}/events/?resource=${timeline.id}`}>{words.eventsPage.title}</a>
        </p>
        <ol class="timeline technical">
          {timeline.entries.toReversed().map((entry) => (
            <li>
              <span class="kind">{words.entryTypes[entry.type]}</span>
              <span>{describe(view, timeline, entry)}</span>
              <Time view={view} at={entry.at} hasSeconds />
            </li>
          ))}
        </ol>
      </details>
      {!timeline.is_complete && <p class="help">{words.incomplete}</p>}
    </Card>
  );
};

function describe(view: View, timeline: TimelineView, entry: TimelineEntry): Child {
  const { words } = view;
  const { transition, refund, notification, event } = entry;
  if (transition) {
    const { from_status, to_status, source, actor } = transition;
    const change = [from_status, to_status].filter((status) => status !== null)
      .map((status) => statusName(view, timeline, entry, status)).join(" → ");
    return `${change} (${source}${actor ? ` ${words.by} ${actor}` : ""})`;
  }
  if (refund) return `${rupiah(refund.amount)}: ${words.refundStatuses[refund.status]}`;
  if (notification) {
    const { id, transaction_status, status, error_message } = notification;
    return (
      <>
        <a href={`${view.root}/notifications/${id}/`}>
          {paymentStatusName(words, transaction_status)}
        </a>
        {`: ${words.notificationsPage.statuses[status]}${
          error_message ? ` (${error_message})` : ""
        }`}
      </>
    );
  }
  const { id, name, deliveries } = event!;
  const sent = deliveries.map(({ status, attempts }) =>
    `${words.webhooksPage.statuses[status]}, ${attempts}×`
  );
  return (
    <>
      <a href={`${view.root}/events/${id}/`}>{name}</a>
      {sent.length > 0 && `; ${words.deliveries}: ${sent.join("; ")}`}
    </>
  );
}

/** A transition is one of the resource itself, or of one of its payments. */
function statusName(
  { words }: View,
  { resource }: TimelineView,
  { payment_id }: TimelineEntry,
  status: string,
): string {
  if (resource === "payment" || payment_id !== null) return paymentStatusName(words, status);
  const { statuses } = {
    checkout: words.checkoutsPage,
    invoice: words.invoicesPage,
    subscription: words.subscriptionsPage,
  }[resource];
  return (statuses as Record<string, string>)[status] ?? status;
}
