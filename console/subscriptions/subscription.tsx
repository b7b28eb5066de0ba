/**
 * `/console/subscriptions/{id}/`: one subscription. Staff can pause, resume, cancel and check it.
 */

import type { FC } from "hono/jsx";
import type { Caller } from "../../core/auth/caller.ts";
import type { PaymentSummary } from "../../core/payments/views.ts";
import { getSubscriptionStatus } from "../../core/subscriptions/check_at_gateway.ts";
import { readSubscription } from "../../core/subscriptions/read.ts";
import {
  allows,
  SUBSCRIPTION_ACTIONS,
  type SubscriptionAction,
} from "../../core/subscriptions/states.ts";
import { shownOf, type SubscriptionView } from "../../core/subscriptions/views.ts";
import { readTimelineAndPayments, type TimelineAndPayments } from "../../core/reports/timelines.ts";
import { readPaymentPage } from "../../http/lists/payments.ts";
import { scopeOf } from "../../http/idempotency.ts";
import { parsePathId } from "../../http/paths.ts";
import { SUBSCRIPTION_VERBS } from "../../core/subscriptions/actions.ts";
import { LinkedPayments } from "../payments/linked_payments.tsx";
import { type ConsoleBase, type ConsoleService, requireActor } from "../shared/base.tsx";
import {
  type ActionForm,
  ConfirmPage,
  explainAction,
  formAfter,
  newForm,
  problemOf,
  readAfter,
  readForm,
  redirectAfter,
  submitOnce,
} from "../shared/confirm.tsx";
import { breakEmail, emailLink, phoneLink } from "../shared/customer_link.tsx";
import { BackLink, Card, Facts, RecordActions, Time } from "../shared/elements.tsx";
import { explain } from "../shared/explain.ts";
import { jakartaTime, methodName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView, View } from "../shared/session.ts";
import { Timeline, TIMELINE_LIMITS } from "../shared/timeline.tsx";
import { customerName, nextCharge, SubscriptionStatusLabel } from "./display.tsx";

const PATH = "/subscriptions/";

/** The charges of a subscription that its page shows. */
const MAX_CHARGES = 50;

export function addSubscription(base: ConsoleBase): void {
  const { service, root, router, signedIn, actorForm, page } = base;

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const shown = await readAll(service, view.session.caller, parsePathId(c.req.param("id")));
    const message = doneOf(view, c.req.query("done"));
    return page(c, <SubscriptionPage view={view} {...shown} message={message} />);
  });

  router.post(`${PATH}:id/check-status/`, async (c) => {
    const { view } = await actorForm(c);
    c.env.isAuditExempt = true;
    const { caller } = view.session;
    const id = parsePathId(c.req.param("id"));
    try {
      const { gateway_response } = await getSubscriptionStatus(service, caller, id);
      const done = gateway_response === null ? "notCheckedYet" : "checked";
      return c.redirect(`${root}${PATH}${id}/?done=${done}`, 303);
    } catch (thrown) {
      const error = explain(view, problemOf(c, thrown));
      const shown = await readAll(service, caller, id);
      return page(c, <SubscriptionPage view={view} {...shown} error={error} />, 400);
    }
  });

  for (const action of SUBSCRIPTION_ACTIONS) {
    router.get(`${PATH}:id/${action}/`, async (c) => {
      const view = await signedIn(c);
      requireActor(view.session);
      const id = parsePathId(c.req.param("id"));
      const subscription = await readSubscription(service, view.session.caller, id);
      const isAllowed = allows(subscription.status, action);
      const error = isAllowed ? null : view.words.subscriptionsPage.noActions;
      const form = newForm(shownOf(subscription));
      const html = <ActionPage {...{ view, subscription, action, form, error }} />;
      return page(c, html, isAllowed ? 200 : 400);
    });

    router.post(`${PATH}:id/${action}/`, async (c) => {
      const { view, sent } = await actorForm(c);
      const form = readForm(sent);
      const { caller } = view.session;
      const id = parsePathId(c.req.param("id"));
      try {
        const scope = scopeOf(`/subscriptions/{pk}/${action}/`, id);
        const current = shownOf(await readSubscription(service, caller, id));
        const isReplayed = await submitOnce(
          service,
          view,
          form,
          { scope, input: {}, current },
          (request) => SUBSCRIPTION_VERBS[action](service, { ...request, id }),
        );
        return redirectAfter(c, `${root}${PATH}${id}/?done=${action}`, isReplayed);
      } catch (thrown) {
        const problem = problemOf(c, thrown);
        const { outcomeUnknown } = view.words.subscriptionsPage;
        const error = explainAction(view, problem, outcomeUnknown);
        const subscription = await readAfter(problem, error, readSubscription(service, caller, id));
        const next = formAfter(form, problem, shownOf(subscription));
        const html = <ActionPage {...{ view, subscription, action, error }} form={next} />;
        return page(c, html, 400);
      }
    });
  }
}

function doneOf({ words: { subscriptionsPage: words } }: View, done: string | undefined) {
  if (done === "checked" || done === "notCheckedYet") return words[done];
  const action = SUBSCRIPTION_ACTIONS.find((each) => each === done);
  return action ? words.done[action] : null;
}

interface Shown {
  subscription: SubscriptionView;
  charges: PaymentSummary[];
  timeline: TimelineAndPayments;
}

async function readAll(service: ConsoleService, caller: Caller, id: string): Promise<Shown> {
  const subscription = await readSubscription(service, caller, id);
  const filter = { subscription_id: id, limit: MAX_CHARGES };
  const { payments: charges } = await readPaymentPage(service, caller, filter);
  const timeline = await readTimelineAndPayments(
    service,
    caller,
    "subscription",
    id,
    TIMELINE_LIMITS,
  );
  return { subscription, charges, timeline };
}

/** Such as `Rp 150.000 every month`. */
function planOf({ words }: View, { amount, interval, interval_unit }: SubscriptionView): string {
  return `${rupiah(amount)} ${words.subscriptionsPage.every(interval, interval_unit)}`;
}

interface SubscriptionProps extends Shown {
  view: SignedInView;
  /** What the last form did. */
  message?: string | null;
  error?: string;
}

const SubscriptionPage: FC<SubscriptionProps> = (props) => {
  const { view, subscription, charges, timeline, message, error } = props;
  const { words: { subscriptionsPage: words } } = view;
  const { id, status } = subscription;
  const path = `${PATH}${id}/`;
  const allowed = SUBSCRIPTION_ACTIONS.filter((action) => allows(status, action));
  return (
    <Frame view={view} title={subscription.name} path={path} live={id}>
      <BackLink view={view} to={PATH}>{words.title}</BackLink>
      {message && <p role="status" class="done">{message}</p>}
      {error && <p role="alert" class="error">{error}</p>}
      <h1>
        {subscription.name} <SubscriptionStatusLabel view={view} status={status} />
      </h1>
      <p class="subtitle">{planOf(view, subscription)}</p>
      {status === "pending" && <p class="notice">{words.unconfirmed}</p>}
      {status === "failed" && <p class="notice">{words.failed}</p>}
      {status === "inactive" && <p class="notice">{words.ended}</p>}
      <div class="columns">
        <div>
          <Details view={view} subscription={subscription} />
          <LinkedPayments
            view={view}
            title={words.charges}
            payments={charges}
            none={words.noCharges}
          />
          <Timeline view={view} timeline={timeline} />
        </div>
        <div>
          <RecordActions
            view={view}
            path={path}
            actions={allowed.map((action) => [action, words.actionNames[action]])}
            none={words.noActions}
          />
        </div>
      </div>
    </Frame>
  );
};

interface PartProps {
  view: View;
  subscription: SubscriptionView;
}

const Details: FC<PartProps> = ({ view, subscription }) => {
  const { words: { subscriptionsPage: words, ...shared } } = view;
  const { current_interval, max_interval, gateway_subscription_id, start_time } = subscription;
  const next = nextCharge(subscription);
  return (
    <Card id="details" title={shared.details}>
      <Facts
        facts={{
          [words.plan]: planOf(view, subscription),
          [words.cycles]: words.cycleOf(current_interval, max_interval),
          [words.start]: start_time && <Time view={view} at={start_time} />,
          [words.next]: next && <Time view={view} at={next} />,
          [shared.method]: methodName(view.words, subscription.payment_type),
          [shared.customer]: customerName(subscription),
          [shared.email]: emailLink(view, subscription.customer_email),
          [shared.phone]: phoneLink(view, subscription.customer_phone),
          [words.gatewayId]: gateway_subscription_id && <code>{gateway_subscription_id}</code>,
          ID: <code>{subscription.id}</code>,
          [shared.created]: <Time view={view} at={subscription.created_at} />,
        }}
      />
    </Card>
  );
};

interface ActionProps extends PartProps {
  view: SignedInView;
  action: SubscriptionAction;
  form: ActionForm;
  error: string | null;
}

const ActionPage: FC<ActionProps> = ({ view, subscription, action, form, error }) => {
  const { words: { subscriptionsPage: words, ...shared } } = view;
  const next = nextCharge(subscription);
  const plan = planOf(view, subscription);
  return (
    <ConfirmPage
      view={view}
      title={words.actionNames[action]}
      path={`${PATH}${subscription.id}/${action}/`}
      back={`${PATH}${subscription.id}/`}
      error={error}
      facts={{
        [shared.name]: subscription.name,
        [words.plan]: plan,
        [shared.customer]: customerName(subscription) ?? breakEmail(subscription.customer_email),
        [shared.status]: <SubscriptionStatusLabel view={view} status={subscription.status} />,
      }}
      effects={words.effects[action](plan, next && jakartaTime(next, shared.locale))}
      form={form}
      isDangerous={action !== "enable"}
    />
  );
};
