/** `/console/checkouts/{id}/`: one checkout. Staff can copy its link, and cancel it. */

import type { Child, FC } from "hono/jsx";
import type { Caller } from "../../core/auth/caller.ts";
import { cancelCheckout } from "../../core/checkouts/cancel.ts";
import { readCheckoutPayments } from "../../core/checkouts/checkout_record.ts";
import { readCheckout } from "../../core/checkouts/read.ts";
import { isRunning } from "../../core/checkouts/states.ts";
import { type CheckoutView, shownOf } from "../../core/checkouts/views.ts";
import { runOnce } from "../../core/idempotency/run_once.ts";
import { type PaymentSummary, summarizePayment } from "../../core/payments/views.ts";
import { readTimelineAndPayments, type TimelineAndPayments } from "../../core/reports/timelines.ts";
import type { Service } from "../../core/service.ts";
import { scopeOf } from "../../http/idempotency.ts";
import { parsePathId } from "../../http/paths.ts";
import { type ConsoleBase, requireActor } from "../shared/base.tsx";
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
import {
  BackLink,
  Card,
  Facts,
  Label,
  LinkCard,
  linkTo,
  Metadata,
  RecordActions,
  Table,
  Time,
  type Tone,
} from "../shared/elements.tsx";
import { rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView, View } from "../shared/session.ts";
import { Timeline, TIMELINE_LIMITS } from "../shared/timeline.tsx";
import { checkoutMethodName, CheckoutStatusLabel, offeredNames } from "./display.tsx";

const PATH = "/checkouts/";

export function addCheckout(base: ConsoleBase): void {
  const { service, router, signedIn, page } = base;

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const shown = await readAll(service, view.session.caller, id);
    const message = doneOf(view, c.req.query("done"));
    return page(c, <CheckoutPage view={view} {...shown} message={message} />);
  });

  addCancel(base);
}

function addCancel({ service, root, router, signedIn, actorForm, page }: ConsoleBase): void {
  router.get(`${PATH}:id/cancel/`, async (c) => {
    const view = await signedIn(c);
    requireActor(view.session);
    const id = parsePathId(c.req.param("id"));
    const checkout = await readCheckout(service, view.session.caller, id);
    const isAllowed = isRunning(checkout);
    const error = isAllowed ? null : view.words.checkoutsPage.noActions;
    const form = newForm(shownOf(checkout));
    return page(c, <CancelPage {...{ view, checkout, form, error }} />, isAllowed ? 200 : 400);
  });

  router.post(`${PATH}:id/cancel/`, async (c) => {
    const { view, sent } = await actorForm(c);
    const { caller } = view.session;
    const id = parsePathId(c.req.param("id"));
    const form = readForm(sent);
    try {
      const scope = scopeOf("/checkouts/{pk}/cancel/", id);
      const current = shownOf(await readCheckout(service, caller, id));
      const isReplayed = await submitOnce(
        service,
        view,
        form,
        { scope, input: {}, current },
        ({ requestKey }) =>
          runOnce(service, caller, requestKey!, async () => {
            const { status } = await cancelCheckout(service, caller, id);
            return { status };
          }),
      );
      return redirectAfter(c, `${root}${PATH}${id}/?done=cancelled`, isReplayed);
    } catch (thrown) {
      const problem = problemOf(c, thrown);
      const error = explainAction(view, problem, view.words.outcomeUnknown);
      const checkout = await readAfter(problem, error, readCheckout(service, caller, id));
      const next = formAfter(form, problem, shownOf(checkout));
      return page(c, <CancelPage {...{ view, checkout, error }} form={next} />, 400);
    }
  });
}

const MESSAGES = ["created", "cancelled"] as const;

function doneOf({ words }: View, done: string | undefined): string | null {
  const name = MESSAGES.find((each) => each === done);
  return name ? words.checkoutsPage[name] : null;
}

interface Shown {
  checkout: CheckoutView;
  /** The payments of all attempts, oldest first. */
  payments: PaymentSummary[];
  timeline: TimelineAndPayments;
}

async function readAll(service: Service, caller: Caller, id: string): Promise<Shown> {
  const checkout = await readCheckout(service, caller, id);
  const payments = await readCheckoutPayments(service, checkout);
  const timeline = await readTimelineAndPayments(service, caller, "checkout", id, TIMELINE_LIMITS);
  return {
    checkout,
    payments: payments.map((payment) => summarizePayment(payment, caller)),
    timeline,
  };
}

interface CheckoutProps extends Shown {
  view: SignedInView;
  /** What the last form did. */
  message?: string | null;
}

const CheckoutPage: FC<CheckoutProps> = (props) => {
  const { view, checkout, timeline, message } = props;
  const { words: { checkoutsPage: words } } = view;
  const path = `${PATH}${checkout.id}/`;
  const { checkout_url: url } = checkout;
  return (
    <Frame view={view} title={checkout.order_id} path={path} live={checkout.id}>
      <BackLink view={view} to={PATH}>{words.title}</BackLink>
      {message && <p role="status" class="done">{message}</p>}
      <h1>
        {rupiah(checkout.gross_amount)} <CheckoutStatusLabel view={view} checkout={checkout} />
      </h1>
      <p class="subtitle">{checkout.order_id}</p>
      <Notices {...props} />
      <div class="columns">
        <div>
          <Attempts {...props} />
          <Details {...props} />
          <Timeline view={view} timeline={timeline} />
        </div>
        <div>
          {url && (
            <LinkCard
              view={view}
              title={words.link}
              url={url}
              help={isRunning(checkout) && words.linkHelp}
            />
          )}
          <RecordActions
            view={view}
            path={path}
            actions={isRunning(checkout) ? [["cancel", words.cancel]] : []}
            none={words.noActions}
            canCheck={false}
          />
        </div>
      </div>
    </Frame>
  );
};

/** What staff have to decide, with the payments that it is about. */
const Notices: FC<CheckoutProps> = ({ view, checkout, payments }) => {
  const { checkoutsPage: words } = view.words;
  const { payment_id, extra_payment_id, is_late } = checkout;
  const linksTo = (...ids: (string | null)[]) =>
    ids.filter((id) => id !== null).map((id) => (
      <>
        {" "}
        <PaymentLink view={view} id={id} payments={payments} />
      </>
    ));
  return (
    <>
      {extra_payment_id !== null && (
        <p class="notice">{words.twiceHelp}{linksTo(payment_id, extra_payment_id)}</p>
      )}
      {is_late && <p class="notice">{words.lateHelp}{linksTo(payment_id)}</p>}
    </>
  );
};

interface PaymentLinkProps {
  view: View;
  id: string;
  payments: PaymentSummary[];
}

const PaymentLink: FC<PaymentLinkProps> = ({ view, id, payments }) => {
  const payment = payments.find((each) => each.id === id);
  return <a href={`${view.root}/payments/${id}/`}>{payment?.order_id ?? id}</a>;
};

type Attempt = CheckoutView["attempts"][number];

const ATTEMPT_TONES: Record<Attempt["status"], Tone> = {
  open: "wait",
  closing: "wait",
  closed: "plain",
  paid: "good",
};

const Attempts: FC<CheckoutProps> = ({ view, checkout, payments }) => {
  const { words: { checkoutsPage: words, ...shared } } = view;
  const { attempts } = checkout;
  const paymentsOf = (attempt: Attempt): Child => {
    const own = payments.filter(({ order_id }) => order_id === attempt.order_id);
    if (own.length === 0) return "–";
    return own.map((payment) => (
      <div>
        <PaymentLink view={view} id={payment.id} payments={payments} />
        {` · ${shared.statuses[payment.transaction_status]}`}
      </div>
    ));
  };
  return (
    <Card id="attempts" title={words.attempts}>
      {attempts.length === 0 ? <p class="help">{words.noAttempts}</p> : (
        <Table
          label={words.attempts}
          class="payments cards"
          columns={[shared.method, shared.status, words.payment, words.chosen]}
        >
          {attempts.map((attempt) => (
            <tr>
              <td>{checkoutMethodName(view.words, attempt.method)}</td>
              <td>
                <Label tone={ATTEMPT_TONES[attempt.status]}>
                  {words.attemptStatuses[attempt.status]}
                </Label>
              </td>
              <td class="wide">{paymentsOf(attempt)}</td>
              <td>
                <Time view={view} at={attempt.created_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
};

const Details: FC<CheckoutProps> = ({ view, checkout, payments }) => {
  const { words: { checkoutsPage: words, ...shared } } = view;
  const { payment_id, language, metadata } = checkout;
  return (
    <Card id="details" title={shared.details}>
      <Facts
        facts={{
          [words.amount]: rupiah(checkout.gross_amount),
          [words.payment]: payment_id &&
            <PaymentLink view={view} id={payment_id} payments={payments} />,
          [words.offered]: offeredNames(view, checkout.enabled_payments),
          [words.language]: language === "id" || language === "en"
            ? words.languages[language]
            : words.browserLanguage,
          [words.finishUrl]: linkTo(checkout.finish_url),
          [words.cancelUrl]: linkTo(checkout.cancel_url),
          [shared.created]: <Time view={view} at={checkout.created_at} />,
          [shared.expires]: <Time view={view} at={checkout.expires_at} />,
          [words.ended]: checkout.ended_at && <Time view={view} at={checkout.ended_at} />,
          [words.orderId]: <code>{checkout.order_id}</code>,
          ID: <code>{checkout.id}</code>,
          [words.metadata]: metadata && <Metadata value={metadata} />,
        }}
      />
    </Card>
  );
};

interface CancelProps {
  view: SignedInView;
  checkout: CheckoutView;
  form: ActionForm;
  error: string | null;
}

const CancelPage: FC<CancelProps> = ({ view, checkout, form, error }) => {
  const { words: { checkoutsPage: words, ...shared } } = view;
  const amount = rupiah(checkout.gross_amount);
  const chosen = checkout.attempts.at(-1);
  return (
    <ConfirmPage
      view={view}
      title={words.cancel}
      path={`${PATH}${checkout.id}/cancel/`}
      back={`${PATH}${checkout.id}/`}
      error={error}
      facts={{
        [words.orderId]: checkout.order_id,
        [words.amount]: amount,
        [shared.method]: chosen ? checkoutMethodName(view.words, chosen.method) : null,
        [shared.expires]: <Time view={view} at={checkout.expires_at} />,
        [shared.status]: <CheckoutStatusLabel view={view} checkout={checkout} />,
      }}
      effects={words.cancelEffects(amount)}
      form={form}
      isDangerous
    />
  );
};
