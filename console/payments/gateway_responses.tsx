/** `/console/payments/{id}/gateway/`: what the gateway sent about a payment. */

import type { FC } from "hono/jsx";
import { withoutSecrets } from "../../core/notifications/parse.ts";
import { listNotifications, type NotificationView } from "../../core/notifications/read.ts";
import { getStatus } from "../../core/payments/check_at_gateway.ts";
import type { PaymentView } from "../../core/payments/views.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { problemOf } from "../shared/confirm.tsx";
import { ActionButton, BackLink, Card, Json, Time } from "../shared/elements.tsx";
import { explain } from "../shared/explain.ts";
import { paymentStatusName } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView } from "../shared/session.ts";
import { readPaymentFor } from "./payment.tsx";

/** The newest notifications of the order. */
const MAX_NOTIFICATIONS = 8;

/**
 * The gateway's answers have about 1,000 characters. Longer ones are cut off, so that pages stay
 * small.
 */
const MAX_CHARACTERS = 3_000;

export function addGatewayResponses(
  { service, router, signedIn, actorForm, page }: ConsoleBase,
): void {
  const path = "/payments/:id/gateway/";

  async function readAll(view: SignedInView, id: string) {
    const payment = await readPaymentFor(service, view, id);
    const { notifications } = await listNotifications(service, view.session.caller, {
      order_id: payment.order_id,
      limit: MAX_NOTIFICATIONS,
      after: null,
    });
    return { view, payment, notifications };
  }

  router.get(path, async (c) => {
    const view = await signedIn(c);
    const shown = await readAll(view, parsePathId(c.req.param("id")));
    return page(c, <ResponsesPage {...shown} />);
  });

  router.post(path, async (c) => {
    const { view } = await actorForm(c);
    c.env.isAuditExempt = true;
    const id = parsePathId(c.req.param("id"));
    try {
      const { gateway_response } = await getStatus(service, view.session.caller, id);
      const response = gateway_response && withoutSecrets(gateway_response as never);
      return page(c, <ResponsesPage {...await readAll(view, id)} response={response} />);
    } catch (thrown) {
      const error = explain(view, problemOf(c, thrown));
      return page(c, <ResponsesPage {...await readAll(view, id)} error={error} />, 400);
    }
  });
}

interface ResponsesProps {
  view: SignedInView;
  payment: PaymentView;
  notifications: NotificationView[];
  /** The response to the request for the status; null: the gateway has no transaction. */
  response?: object | null;
  error?: string;
}

const ResponsesPage: FC<ResponsesProps> = ({ view, payment, notifications, response, error }) => {
  const { words: { paymentPage: words, ...shared }, session } = view;
  const path = `/payments/${payment.id}/`;
  return (
    <Frame
      view={view}
      title={words.answers}
      path={`${path}gateway/`}
      live={response === undefined && error === undefined ? payment.id : undefined}
    >
      <BackLink view={view} to={path}>{payment.order_id}</BackLink>
      <h1>{words.answers}</h1>
      <p class="subtitle">{words.answersHelp}</p>
      {error && <p role="alert" class="error">{error}</p>}
      <Card id="current" title={words.currentAnswer}>
        {response && <Json view={view} value={response} max={MAX_CHARACTERS} />}
        {response === null && <p>{words.noTransaction}</p>}
        {session.caller.isStaff
          ? <ActionButton view={view} to={`${path}gateway/`}>{words.askGateway}</ActionButton>
          : <p>{shared.viewersCannotAct}</p>}
      </Card>
      <Card id="notifications" title={words.notificationsHere}>
        {notifications.length === 0 && <p class="help">{words.noNotifications}</p>}
        {notifications.map((notification, index) => (
          <details open={index === 0}>
            <summary>
              <Time view={view} at={notification.created_at} />{" "}
              {paymentStatusName(view.words, notification.transaction_status)}:{" "}
              {shared.notificationsPage.statuses[notification.status]}
            </summary>
            <Json view={view} value={notification.raw_payload} max={MAX_CHARACTERS} />
          </details>
        ))}
      </Card>
    </Frame>
  );
};
