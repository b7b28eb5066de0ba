/** `/console/notifications/`: what the gateway sent, and the result. */

import type { Child, FC } from "hono/jsx";
import {
  listNotifications,
  NOTIFICATION_STATUSES,
  type NotificationView,
  readNotification,
  replayNotification,
} from "../../core/notifications/read.ts";
import type { WalkCursor } from "../../core/lists/page.ts";
import { encodeWalkCursor } from "../../http/lists/page.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { timesOf } from "../shared/days.ts";
import {
  ActionButton,
  BackLink,
  Card,
  Facts,
  Json,
  Label,
  shorten,
  Time,
  type Tone,
} from "../shared/elements.tsx";
import { Choice, Field } from "../shared/fields.tsx";
import { FilterBar, readFields, sentFields } from "../shared/filter_bar.tsx";
import { methodName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import { choose, ListPage, PAGE_SIZE, walkCursorOf } from "../shared/list_page.tsx";
import type { SignedInView, View } from "../shared/session.ts";

const PATH = "/notifications/";

const FIELDS = ["status", "order", "from", "to"] as const;

export function addNotifications(base: ConsoleBase): void {
  const { service, root, router, signedIn, formOf, page } = base;

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const query = readFields(c, FIELDS);
    const status = choose(NOTIFICATION_STATUSES, query.status);
    const { notifications, next } = await listNotifications(service, view.session.caller, {
      ...timesOf(query),
      ...status && { status: [status] },
      ...query.order && { order_id: query.order },
      limit: PAGE_SIZE,
      after: walkCursorOf(c),
    });
    const isLive = c.req.query("cursor") === undefined;
    return page(c, <NotificationsPage {...{ view, query, notifications, next, isLive }} />);
  });

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const notification = await readNotification(service, view.session.caller, id);
    const message = c.req.query("done") ? view.words.replayed : null;
    return page(c, <NotificationPage {...{ view, notification, message }} />);
  });

  router.post(`${PATH}:id/replay/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    const id = parsePathId(c.req.param("id"));
    await replayNotification(service, session.caller, id);
    return c.redirect(`${root}${PATH}${id}/?done=replay`, 303);
  });
}

interface NotificationsProps {
  view: SignedInView;
  query: Record<typeof FIELDS[number], string>;
  notifications: NotificationView[];
  next: WalkCursor | null;
  isLive: boolean;
}

const NotificationsPage: FC<NotificationsProps> = (props) => {
  const { view, query, notifications, next, isLive } = props;
  const { words } = view;
  const { reported, statuses } = words.notificationsPage;
  return (
    <ListPage
      view={view}
      title={words.notifications}
      path={PATH}
      columns={[words.created, words.order, reported, words.amount, words.result, ""]}
      amounts={[3]}
      rows={notifications.map((each) => cellsOf(view, each))}
      next={next && encodeWalkCursor(next)}
      query={sentFields(query)}
      isLive={isLive}
    >
      <FilterBar view={view} path={PATH} days={query}>
        <Choice
          name="status"
          label={words.result}
          value={choose(NOTIFICATION_STATUSES, query.status) ?? ""}
          options={statuses}
          any={words.any}
        />
        <Field name="order" label={words.order} type="text" value={query.order} />
      </FilterBar>
    </ListPage>
  );
};

function cellsOf(view: SignedInView, notification: NotificationView): Child[] {
  const { root, words } = view;
  const { id, created_at, payment_id, order_id, error_message } = notification;
  return [
    <a href={`${root}${PATH}${id}/`}>
      <Time view={view} at={created_at} />
    </a>,
    payment_id ? <a href={`${root}/payments/${payment_id}/`}>{order_id}</a> : order_id,
    notification.transaction_status,
    amountOf(notification),
    <>
      <Result view={view} notification={notification} />
      {error_message && <span class="faint">{shorten(error_message)}</span>}
    </>,
    <ActionButton view={view} to={`${PATH}${id}/replay/`}>{words.replay}</ActionButton>,
  ];
}

const TONES: Record<NotificationView["status"], Tone> = {
  received: "wait",
  processed: "good",
  duplicate: "plain",
  stale: "plain",
  unmatched: "bad",
  failed: "bad",
};

interface NotificationProps {
  view: View;
  notification: NotificationView;
}

const Result: FC<NotificationProps> = ({ view, notification: { status } }) => (
  <Label tone={TONES[status]}>{view.words.notificationsPage.statuses[status]}</Label>
);

/** The gateway chooses this text, so it is formatted only if it is an amount. */
function amountOf({ gross_amount }: NotificationView): string {
  return /^\d+(\.\d+)?$/.test(gross_amount) ? rupiah(gross_amount) : gross_amount;
}

interface PageProps {
  view: SignedInView;
  notification: NotificationView;
  message: string | null;
}

const NotificationPage: FC<PageProps> = ({ view, notification, message }) => {
  const { root, words } = view;
  const { notificationsPage } = words;
  const { id, order_id, payment_id, payment_type, status } = notification;
  return (
    <Frame
      view={view}
      title={`${words.notifications} · ${order_id}`}
      path={`${PATH}${id}/`}
      live={payment_id ?? undefined}
    >
      <BackLink view={view} to={PATH}>{words.notifications}</BackLink>
      {message && <p role="status" class="done">{message}</p>}
      <h1>
        {order_id} <Result view={view} notification={notification} />
      </h1>
      <p class="subtitle">{notificationsPage.meanings[status]}</p>
      <Card id="details" title={words.details}>
        <Facts
          facts={{
            [words.created]: <Time view={view} at={notification.created_at} />,
            [notificationsPage.payment]: payment_id
              ? <a href={`${root}/payments/${payment_id}/`}>{order_id}</a>
              : notificationsPage.noPayment,
            [notificationsPage.reported]: [
              notification.transaction_status,
              notification.fraud_status,
            ].filter(Boolean).join(" · "),
            [words.amount]: amountOf(notification),
            [words.method]: payment_type && methodName(words, payment_type),
            [notificationsPage.statusCode]: notification.status_code,
            [words.transaction]: notification.transaction_id &&
              <code>{notification.transaction_id}</code>,
            [words.error]: notification.error_message,
            ID: <code>{id}</code>,
          }}
        />
        <div class="actions after">
          <ActionButton view={view} to={`${PATH}${id}/replay/`}>{words.replay}</ActionButton>
          <a class="button" href={`${root}${PATH}?${new URLSearchParams({ order: order_id })}`}>
            {notificationsPage.sameOrder}
          </a>
        </div>
        <p class="help">{notificationsPage.replayHelp}</p>
      </Card>
      <Card id="payload" title={notificationsPage.payload}>
        <p class="help">{notificationsPage.payloadHelp}</p>
        <Json view={view} value={notification.raw_payload} />
      </Card>
    </Frame>
  );
};
