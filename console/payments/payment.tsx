/** `/console/payments/{id}/`: one payment. */

import { raw } from "hono/html";
import type { Child, FC } from "hono/jsx";
import { renderSVG } from "uqr";
import { getStatus } from "../../core/payments/check_at_gateway.ts";
import { isPendingAtBank } from "../../core/payments/merge_refunds.ts";
import { readPayment } from "../../core/payments/read.ts";
import { PAYMENT_ACTIONS } from "../../core/payments/states.ts";
import { forCaller, type PaymentView } from "../../core/payments/views.ts";
import { readTimeline, type TimelineView } from "../../core/reports/timelines.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { problemOf } from "../shared/confirm.tsx";
import {
  BackLink,
  Card,
  Facts,
  LinkCard,
  linkTo,
  RecordActions,
  Table,
  Time,
} from "../shared/elements.tsx";
import { explain } from "../shared/explain.ts";
import { methodName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView, View } from "../shared/session.ts";
import { Timeline, TIMELINE_LIMITS } from "../shared/timeline.tsx";
import type { Service } from "../../core/service.ts";
import { PaymentStatusLabel } from "./table.tsx";

export function addPayment(
  { service, root, router, signedIn, actorForm, page }: ConsoleBase,
): void {
  router.get("/payments/:id/", async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const shown = await readAll(service, view, id);
    const message = messageOf(view, c.req.query("done"));
    return page(c, <PaymentPage view={view} {...shown} message={message} />);
  });

  router.post("/payments/:id/check-status/", async (c) => {
    const { view } = await actorForm(c);
    c.env.isAuditExempt = true;
    const id = parsePathId(c.req.param("id"));
    try {
      await getStatus(service, view.session.caller, id);
      return c.redirect(`${root}/payments/${id}/?done=checked`, 303);
    } catch (thrown) {
      const error = explain(view, problemOf(c, thrown));
      const shown = await readAll(service, view, id);
      return page(c, <PaymentPage view={view} {...shown} error={error} />, 400);
    }
  });
}

interface Shown {
  payment: PaymentView;
  timeline: TimelineView;
}

async function readAll(service: Service, view: SignedInView, id: string): Promise<Shown> {
  const payment = await readPaymentFor(service, view, id);
  const { caller } = view.session;
  return { payment, timeline: await readTimeline(service, caller, "payment", id, TIMELINE_LIMITS) };
}

/** The payment with the actions that the user may take. */
export async function readPaymentFor(
  service: Service,
  { session }: SignedInView,
  id: string,
): Promise<PaymentView> {
  return forCaller(service, session.caller, await readPayment(service, session.caller, id));
}

function messageOf({ words }: View, done: string | undefined): string | null {
  if (done === "checked") return words.checked;
  if (done === "mark-denied") return words.paymentPage.markedDenied;
  const action = PAYMENT_ACTIONS.find((each) => each === done);
  return action ? words.done[action] : null;
}

interface PaymentProps extends Shown {
  view: SignedInView;
  /** What the last form did. */
  message?: string | null;
  error?: string;
}

const PaymentPage: FC<PaymentProps> = ({ view, payment, timeline, message, error }) => {
  const { words } = view;
  const path = `/payments/${payment.id}/`;
  return (
    <Frame view={view} title={payment.order_id} path={path} live={payment.id}>
      <BackLink view={view} to="/payments/">{words.payments}</BackLink>
      {message && <p role="status" class="done">{message}</p>}
      {error && <p role="alert" class="error">{error}</p>}
      <h1>
        {rupiah(payment.gross_amount)} <PaymentStatusLabel view={view} payment={payment} />
      </h1>
      <p class="subtitle">{payment.order_id}</p>
      {unknownOutcomes(view, payment).map((text) => <p class="notice">{text}</p>)}
      <div class="columns">
        <div>
          <Amounts view={view} payment={payment} />
          <Details view={view} payment={payment} />
          <Items view={view} payment={payment} />
          <Refunds view={view} payment={payment} />
          <Timeline view={view} timeline={timeline} />
        </div>
        <div>
          <RecordActions
            view={view}
            path={path}
            actions={payment.allowed_actions.map((action) => [action, words.actionNames[action]])}
            none={words.noActions}
          />
          <PaymentPageLink view={view} payment={payment} />
          <CustomerSees view={view} payment={payment} />
          <Customer view={view} payment={payment} />
        </div>
      </div>
    </Frame>
  );
};

/** What the gateway has not confirmed yet, and what happens next. */
export function unknownOutcomes({ words }: View, payment: PaymentView): string[] {
  const { transaction_status, transaction_id, refunds } = payment;
  const isUnconfirmed = transaction_status === "pending" && transaction_id === null;
  const open = refunds.filter(({ status }) => status === "pending");
  return [
    ...isUnconfirmed ? [words.paymentPage.chargeUnknown] : [],
    ...open.map(({ amount }) => words.paymentPage.refundUnknown(rupiah(amount))),
  ];
}

interface PartProps {
  view: View;
  payment: PaymentView;
}

const Details: FC<PartProps> = ({ view, payment }) => {
  const { root, words } = view;
  const { checkout_id, invoice_id, subscription_id } = payment;
  return (
    <Card id="details" title={words.details}>
      <Facts
        facts={{
          [words.method]: methodName(words, payment.payment_type, payment.bank),
          [words.paymentPage.checkout]: checkout_id &&
            <a href={`${root}/checkouts/${checkout_id}/`}>{checkout_id}</a>,
          [words.paymentPage.invoice]: invoice_id &&
            <a href={`${root}/invoices/${invoice_id}/`}>{invoice_id}</a>,
          [words.paymentPage.subscription]: subscription_id &&
            <a href={`${root}/subscriptions/${subscription_id}/`}>{subscription_id}</a>,
          [words.created]: <Time view={view} at={payment.created_at} />,
          [words.expires]: payment.expiry_time && <Time view={view} at={payment.expiry_time} />,
          [words.settled]: payment.settlement_time &&
            <Time view={view} at={payment.settlement_time} />,
          [words.transaction]: payment.transaction_id && <code>{payment.transaction_id}</code>,
          ID: <code>{payment.id}</code>,
          [words.gatewayMessage]: payment.status_message,
          [words.paymentPage.metadata]: payment.metadata &&
            <code>{JSON.stringify(payment.metadata)}</code>,
          [words.paymentPage.answers]: (
            <a href={`${root}/payments/${payment.id}/gateway/`}>{words.paymentPage.showAnswers}</a>
          ),
        }}
      />
    </Card>
  );
};

const Customer: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  const { customer_first_name, customer_last_name, customer_email, customer_phone } = payment;
  const name = [customer_first_name, customer_last_name].filter(Boolean).join(" ");
  const facts = {
    [words.name]: name,
    [words.email]: customer_email,
    [words.phone]: customer_phone,
  };
  if (!Object.values(facts).some(Boolean)) return null;
  return (
    <Card id="customer" title={words.customer}>
      <Facts facts={facts} />
    </Card>
  );
};

const Amounts: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  return (
    <section class="card amounts" aria-labelledby="amounts">
      <h2 id="amounts">{words.paymentPage.amounts}</h2>
      <Facts
        facts={{
          [words.requested]: rupiah(payment.gross_amount),
          [words.captured]: payment.captured_amount && rupiah(payment.captured_amount),
          [words.refunded]: rupiah(payment.refund_amount),
          [words.paymentPage.chargedBack]: chargebackOf(view, payment),
          [words.net]: rupiah(payment.net_amount),
        }}
      />
    </section>
  );
};

function chargebackOf({ words }: View, payment: PaymentView): string | null {
  const { chargeback_amount: amount, has_unknown_chargeback } = payment;
  if (has_unknown_chargeback) return words.paymentPage.unknownChargeback;
  return amount === null || Number(amount) === 0 ? null : rupiah(amount);
}

const PaymentPageLink: FC<PartProps> = ({ view, payment: { payment_page_url: url } }) => {
  const { link, linkHelp } = view.words.paymentPage;
  return url === null ? null : <LinkCard view={view} title={link} url={url} help={linkHelp} />;
};

const CustomerSees: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  const facts: Record<string, Child> = {
    [words.account]: payment.va_number && <code>{payment.va_number}</code>,
    [words.billerCode]: payment.biller_code && <code>{payment.biller_code}</code>,
    [words.billKey]: payment.bill_key && <code>{payment.bill_key}</code>,
    [words.paymentCode]: payment.payment_code && <code>{payment.payment_code}</code>,
    [words.paymentPage.store]: payment.store,
    [words.paymentLink]: linkTo(payment.redirect_url ?? payment.deeplink_url),
    [words.qrCode]: payment.qr_string && qrCodeOf(payment.qr_string),
  };
  if (Object.values(facts).every((fact) => fact === null)) return null;
  return (
    <Card id="customer-sees" title={words.customerSees}>
      <Facts facts={facts} />
    </Card>
  );
};

/** The text itself if it is too long for a QR code. */
function qrCodeOf(text: string): Child {
  try {
    return raw(renderSVG(text, { pixelSize: 4 }));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return <code>{text}</code>;
  }
}

const Items: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  if (payment.items.length === 0) return null;
  return (
    <Card id="items" title={words.items}>
      <Table
        label={words.items}
        columns={[words.item, words.price, words.quantity, words.subtotal]}
      >
        {payment.items.map((item) => (
          <tr>
            <td>{item.name}</td>
            <td class="amount">{rupiah(item.price)}</td>
            <td class="amount">{item.quantity}</td>
            <td class="amount">{rupiah(item.subtotal)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
};

const Refunds: FC<{ view: SignedInView; payment: PaymentView }> = ({ view, payment }) => {
  const { root, words, session } = view;
  if (payment.refunds.length === 0) return null;
  return (
    <Card id="refunds" title={words.refunds}>
      <Table
        label={words.refunds}
        columns={[words.created, words.amount, words.reason, words.status]}
      >
        {payment.refunds.map((refund) => (
          <tr>
            <td>
              <Time view={view} at={refund.created_at} />
            </td>
            <td class="amount">{rupiah(refund.amount)}</td>
            <td>{refund.reason ?? "–"}</td>
            <td>
              {words.refundStatuses[refund.status]}
              {session.caller.isStaff && isPendingAtBank(refund) && (
                <>
                  {" "}
                  <a href={`${root}/payments/${payment.id}/refunds/${refund.id}/mark-denied/`}>
                    {words.paymentPage.markDenied}
                  </a>
                </>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
};
