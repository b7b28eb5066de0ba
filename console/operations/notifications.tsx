/** `/console/notifications/`: what the gateway sent, and the result. */

import type { FC } from "hono/jsx";
import {
  listNotifications,
  NOTIFICATION_STATUSES,
  type NotificationView,
  readNotification,
  replayNotification,
} from "../../core/notifications/read.ts";
import { encodePosition } from "../../http/lists/page.ts";
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
import { choose, ListPage, PAGE_SIZE, positionOf } from "../shared/list_page.tsx";
import type { SignedInView, View } from "../shared/session.ts";

const PATH = "/notifications/";

export function addNotifications(base: ConsoleBase): void {
  const { deps, root, router, signedIn, formOf, page } = base;

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words } = view;
    const query = readFields(c, ["status", "order", "from", "to"]);
    const status = choose(NOTIFICATION_STATUSES, query.status);
    const { notifications, next } = await listNotifications(deps, view.session.caller, {
      ...timesOf(query),
      ...status && { status: [status] },
      ...query.order && { order_id: query.order },
      limit: PAGE_SIZE,
      after: positionOf(c),
    });
    const rows = notifications.map((each) => [
      <a href={`${root}${PATH}${each.id}/`}>
        <Time view={view} at={each.created_at} />
      </a>,
      each.payment_id
        ? <a href={`${root}/payments/${each.payment_id}/`}>{each.order_id}</a>
        : each.order_id,
      each.transaction_status,
      amountOf(each),
      <>
        <Result view={view} notification={each} />
        {each.error_message && <span class="faint">{shorten(each.error_message)}</span>}
      </>,
      <ActionButton view={view} to={`${PATH}${each.id}/replay/`}>{words.replay}</ActionButton>,
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.notifications}
        path={PATH}
        columns={[
          words.created,
          words.order,
          words.notificationsPage.reported,
          words.amount,
          words.result,
          "",
        ]}
        amounts={[3]}
        rows={rows}
        next={next && encodePosition(next)}
        query={sentFields(query)}
        isLive={c.req.query("cursor") === undefined}
      >
        <FilterBar view={view} path={PATH} days={query}>
          <Choice
            name="status"
            label={words.result}
            value={status ?? ""}
            options={words.notificationsPage.statuses}
            any={words.any}
          />
          <Field name="order" label={words.order} type="text" value={query.order} />
        </FilterBar>
      </ListPage>,
    );
  });

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const notification = await readNotification(deps, view.session.caller, id);
    const message = c.req.query("done") ? view.words.replayed : null;
    return page(c, <NotificationPage {...{ view, notification, message }} />);
  });

  router.post(`${PATH}:id/replay/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    const id = parsePathId(c.req.param("id"));
    await replayNotification(deps, session.caller, id);
    return c.redirect(`${root}${PATH}${id}/?done=replay`, 303);
  });
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
