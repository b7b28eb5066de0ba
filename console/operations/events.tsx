/** `/console/events/`: what happened, and to which webhook endpoints it was sent. */

import type { FC } from "hono/jsx";
import { invalidField, ServiceError } from "../../core/errors.ts";
import { type EventView, listEvents, readEvent } from "../../core/events/read.ts";
import { type EventDelivery, listEventDeliveries } from "../../core/webhooks/deliveries.ts";
import { EVENT_NAMES } from "../../core/events/names.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase, ConsoleContext } from "../shared/base.tsx";
import { timesOf } from "../shared/days.ts";
import { DeliveryResult, DeliveryStatus } from "./deliveries.tsx";
import { ActionButton, BackLink, Card, Facts, Json, Table, Time } from "../shared/elements.tsx";
import { Field } from "../shared/fields.tsx";
import { FilterBar, readFields, sentFields } from "../shared/filter_bar.tsx";
import { rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import { cursorOf, ListPage, PAGE_SIZE } from "../shared/list_page.tsx";
import { pathByEvent } from "../shared/resource_paths.ts";
import type { SignedInView, View } from "../shared/session.ts";

const PATH = "/events/";

export function addEvents({ service, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words } = view;
    const query = readFields(c, ["resource", "from", "to"]);
    const names = namesOf(c);
    const { events, next } = await listEvents(service, view.session.caller, {
      ...timesOf(query),
      names: names.length > 0 ? names : null,
      resourceId: query.resource === "" ? null : parseResource(query.resource),
      order: "newest_first",
      limit: PAGE_SIZE,
      after: cursorOf(c),
    });
    const rows = events.map((event) => [
      <Time view={view} at={event.created_at} />,
      <a href={`${view.root}${PATH}${event.id}/`}>{event.name}</a>,
      <ResourceLink view={view} event={event} />,
      amountOf(event),
      event.sequence,
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.eventsPage.title}
        path={PATH}
        columns={[
          words.created,
          words.event,
          words.eventsPage.resource,
          words.amount,
          words.eventsPage.number,
        ]}
        amounts={[3, 4]}
        rows={rows}
        next={next && encodeCursor(next)}
        query={[...sentFields(query), ...names.map((name) => ["name", name])]}
        isLive={c.req.query("cursor") === undefined}
      >
        <FilterBar view={view} path={PATH} days={query}>
          <NameChoice view={view} chosen={names} />
          <Field
            name="resource"
            label={words.eventsPage.resourceId}
            type="text"
            value={query.resource}
          />
        </FilterBar>
      </ListPage>,
    );
  });

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const event = await readEvent(service, view.session.caller, id);
    const deliveries = await listEventDeliveries(service, view.session.caller, id);
    const message = c.req.query("done") ? view.words.resent : null;
    return page(c, <EventPage {...{ view, event, deliveries, message }} />);
  });
}

/** The names in the URL that exist. */
function namesOf(c: ConsoleContext): EventView["name"][] {
  const sent = c.req.queries("name") ?? [];
  return EVENT_NAMES.filter((name) => sent.includes(name));
}

function parseResource(text: string): string {
  try {
    return parsePathId(text);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw invalidField("resource", "must be the id of a payment, an invoice or a subscription");
  }
}

/** The members of an event's data that the pages show. */
interface EventData {
  id?: string;
  order_id?: string;
  invoice_number?: string;
  name?: string;
  cause?: string;
  url?: string;
  gross_amount?: string;
  total_amount?: string;
  amount?: string;
  payment_id?: string;
  notification_id?: string | null;
}

function dataOf({ data }: EventView): EventData {
  return data as EventData;
}

function amountOf(event: EventView): string {
  const { gross_amount, total_amount, amount } = dataOf(event);
  const shown = gross_amount ?? total_amount ?? amount;
  return shown === undefined ? "–" : rupiah(shown);
}

const ResourceLink: FC<{ view: View; event: EventView }> = ({ view, event }) => {
  const { id, order_id, invoice_number, name, cause, url } = dataOf(event);
  if (id === undefined) return <>–</>;
  const text = invoice_number ?? order_id ?? name ?? cause ?? url ?? id;
  const path = pathByEvent(event.name, id);
  return path ? <a href={view.root + path}>{text}</a> : <>{text}</>;
};

const NameChoice: FC<{ view: View; chosen: string[] }> = ({ view, chosen }) => {
  const { words } = view;
  return (
    <details class="choices">
      <summary>
        {words.event}: {chosen.length === 0 ? words.any : chosen.length}
      </summary>
      <fieldset>
        <legend>{words.event}</legend>
        {EVENT_NAMES.map((name) => (
          <label>
            <input type="checkbox" name="name" value={name} checked={chosen.includes(name)} />
            {name}
          </label>
        ))}
      </fieldset>
    </details>
  );
};

interface EventProps {
  view: SignedInView;
  event: EventView;
  deliveries: EventDelivery[];
  message: string | null;
}

const EventPage: FC<EventProps> = ({ view, event, deliveries, message }) => {
  const { root, words } = view;
  const { id, notification_id, payment_id } = dataOf(event);
  return (
    <Frame view={view} title={event.name} path={`${PATH}${event.id}/`} live={id}>
      <BackLink view={view} to={PATH}>{words.eventsPage.title}</BackLink>
      {message && <p role="status" class="done">{message}</p>}
      <h1>{event.name}</h1>
      <Card id="details" title={words.details}>
        <Facts
          facts={{
            [words.created]: <Time view={view} at={event.created_at} />,
            [words.eventsPage.resource]: <ResourceLink view={view} event={event} />,
            [words.eventsPage.number]: id
              ? (
                <>
                  {event.sequence} ·{" "}
                  <a href={`${root}${PATH}?resource=${id}`}>{words.eventsPage.all}</a>
                </>
              )
              : event.sequence,
            [words.eventsPage.cause]: notification_id
              ? (
                <a href={`${root}/notifications/${notification_id}/`}>
                  {words.eventsPage.notification}
                </a>
              )
              : words.eventsPage.noNotification,
            [words.eventsPage.payment]: payment_id
              ? <a href={`${root}/payments/${payment_id}/`}>{payment_id}</a>
              : null,
            ID: <code>{event.id}</code>,
          }}
        />
      </Card>
      <Deliveries view={view} event={event} deliveries={deliveries} />
      <Card id="data" title={words.eventsPage.data}>
        <p class="help">{words.eventsPage.dataHelp}</p>
        <Json view={view} value={event.data} />
      </Card>
    </Frame>
  );
};

const Deliveries: FC<Omit<EventProps, "message">> = ({ view, event, deliveries }) => {
  const { root, words } = view;
  const columns = [
    words.endpoint,
    words.status,
    words.attempts,
    words.webhooksPage.response,
    words.webhooksPage.nextAttempt,
    "",
  ];
  return (
    <Card id="deliveries" title={words.deliveries}>
      {deliveries.length === 0
        ? <p>{words.eventsPage.noDeliveries}</p>
        : (
          <Table label={words.deliveries} columns={columns} amounts={[2]} class="cards">
            {deliveries.map((delivery) => (
              <tr>
                <td class="url">
                  <a href={`${root}/webhooks/${delivery.endpoint.id}/`}>{delivery.endpoint.url}</a>
                </td>
                <td>
                  <DeliveryStatus view={view} status={delivery.status} />
                </td>
                <td class="amount">{delivery.attempts}</td>
                <td class="text">
                  <DeliveryResult view={view} delivery={delivery} />
                </td>
                <td>
                  <Time view={view} at={delivery.next_attempt_at} />
                </td>
                <td>
                  <ActionButton
                    view={view}
                    to={`/webhooks/${delivery.endpoint.id}/${event.id}/resend/`}
                    fields={{ from: "event" }}
                  >
                    {words.resend}
                  </ActionButton>
                </td>
              </tr>
            ))}
          </Table>
        )}
    </Card>
  );
};
