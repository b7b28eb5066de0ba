/** `/console/payments/{id}/`: one payment. */

import { raw } from "hono/html";
import type { Child, FC } from "hono/jsx";
import { renderSVG } from "uqr";
import { getStatus } from "../../core/payments/check_at_gateway.ts";
import { isPendingAtBank } from "../../core/payments/merge_refunds.ts";
import { readPayment } from "../../core/payments/read.ts";
import { PAYMENT_ACTIONS, REFUNDABLE } from "../../core/payments/states.ts";
import { forCaller, type PaymentView, type RefundDetailsView } from "../../core/payments/views.ts";
import { readTimelineAndPayments, type TimelineAndPayments } from "../../core/reports/timelines.ts";
import { readRefundPage } from "../../http/lists/refunds.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { problemOf } from "../shared/confirm.tsx";
import { emailLink, phoneLink } from "../shared/customer_link.tsx";
import {
  BackLink,
  Card,
  Facts,
  ItemTable,
  LinkCard,
  linkTo,
  Metadata,
  RecordActions,
  Table,
  Time,
} from "../shared/elements.tsx";
import { explain } from "../shared/explain.ts";
import { cardBankName, cardName, methodName, rupiah, threeDSecureName } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView, View } from "../shared/session.ts";
import { Timeline, TIMELINE_LIMITS } from "../shared/timeline.tsx";
import type { Service } from "../../core/service.ts";
import { refunderOf, RefundStatus } from "./refunds.tsx";
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
  /** Newest first, with who requested them. */
  refunds: RefundDetailsView[];
  timeline: TimelineAndPayments;
}

/** The newest refunds of a payment; few have more than one. */
const MAX_REFUNDS = 100;

async function readAll(service: Service, view: SignedInView, id: string): Promise<Shown> {
  const payment = await readPaymentFor(service, view, id);
  const { caller } = view.session;
  const { refunds } = payment.refunds.length === 0
    ? { refunds: [] }
    : await readRefundPage(service, caller, { payment_id: id, limit: MAX_REFUNDS });
  const timeline = await readTimelineAndPayments(service, caller, "payment", id, TIMELINE_LIMITS);
  return { payment, refunds, timeline };
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

/**
 * Whether the customer has paid. After a refund or a partial chargeback, too: the receipt shows it.
 * Not after a full chargeback, because the customer's bank has taken the money back.
 */
export function hasReceipt(payment: PaymentView): boolean {
  const { captured_amount, net_amount, transaction_status: status } = payment;
  const isChargedBack = status.endsWith("chargeback") && Number(net_amount) <= 0;
  return captured_amount !== null && status !== "authorize" && !isChargedBack;
}

interface PaymentProps extends Shown {
  view: SignedInView;
  /** What the last form did. */
  message?: string | null;
  error?: string;
}

const PaymentPage: FC<PaymentProps> = (props) => {
  const { view, payment, refunds, timeline, message, error } = props;
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
          <Refunds view={view} refunds={refunds} />
          <Timeline view={view} timeline={timeline} />
        </div>
        <div>
          <RecordActions
            view={view}
            path={path}
            actions={payment.allowed_actions.map((action) => [action, words.actionNames[action]])}
            none={refundRefusal(view, payment) ?? words.noActions}
          />
          {hasReceipt(payment) && (
            <p class="no-print">
              <a class="button" href={`${view.root}${path}receipt/`}>{words.receipt.open}</a>
            </p>
          )}
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

/** Why a paid payment cannot be refunded, and what to do instead; null: it is not so. */
export function refundRefusal({ words }: View, payment: PaymentView): string | null {
  const { no_refund_reason, transaction_status } = payment;
  const isWanted = REFUNDABLE.includes(transaction_status);
  return isWanted && no_refund_reason !== null ? words.message(no_refund_reason) : null;
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
          ...cardFacts(view, payment),
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
            <Metadata value={payment.metadata} />,
          [words.paymentPage.answers]: (
            <a class="no-print" href={`${root}/payments/${payment.id}/gateway/`}>
              {words.paymentPage.showAnswers}
            </a>
          ),
        }}
      />
    </Card>
  );
};

function cardFacts({ words }: View, payment: PaymentView) {
  const { card, payment_type } = payment;
  if (payment_type !== "credit_card") return {};
  const { paymentPage } = words;
  const result = threeDSecureName(words, card);
  return {
    [paymentPage.card]: card && cardName(card),
    [paymentPage.bank]: cardBankName(payment),
    [paymentPage.approvalCode]: card?.approval_code ? <code>{card.approval_code}</code> : null,
    "3-D Secure": result && `${result} (ECI ${card!.eci})`,
  };
}

const Customer: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  const { customer_first_name, customer_last_name, customer_email, customer_phone } = payment;
  const name = [customer_first_name, customer_last_name].filter(Boolean).join(" ");
  const facts = {
    [words.name]: name,
    [words.email]: emailLink(view, customer_email),
    [words.phone]: phoneLink(view, customer_phone),
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
          [payment.payment_type === "credit_card" ? words.captured : words.paymentPage.paid]:
            payment.captured_amount && rupiah(payment.captured_amount),
          [words.refunded]: rupiah(payment.refund_amount),
          [words.paymentPage.chargedBack]: chargebackOf(view, payment),
          [words.net]: rupiah(payment.net_amount),
          [words.paymentPage.fee]: payment.fee_amount && rupiah(payment.fee_amount),
          [words.paymentPage.payout]: payment.payout_amount && rupiah(payment.payout_amount),
        }}
      />
    </section>
  );
};

/** The amount; null: nothing was charged back. */
export function chargebackOf({ words }: View, payment: PaymentView): string | null {
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
    // A paid or ended payment has nothing to scan or open.
    [words.paymentLink]: payment.is_pending
      ? linkTo(payment.redirect_url ?? payment.deeplink_url)
      : null,
    [words.qrCode]: payment.is_pending && payment.qr_string !== null
      ? qrCodeOf(payment.qr_string)
      : null,
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
      <ItemTable view={view} items={payment.items} />
    </Card>
  );
};

const Refunds: FC<{ view: SignedInView; refunds: RefundDetailsView[] }> = ({ view, refunds }) => {
  const { root, words, session } = view;
  if (refunds.length === 0) return null;
  return (
    <Card id="refunds" title={words.refunds}>
      <Table
        label={words.refunds}
        class="cards"
        columns={[words.created, words.amount, words.reason, words.refundedBy, words.status]}
        amounts={[1]}
      >
        {refunds.map((refund) => (
          <tr>
            <td>
              <Time view={view} at={refund.created_at} />
            </td>
            <td class="amount">{rupiah(refund.amount)}</td>
            <td>{refund.reason ?? "–"}</td>
            <td>{refunderOf(view, refund)}</td>
            <td>
              <RefundStatus view={view} refund={refund} />
              {session.caller.isStaff && isPendingAtBank(refund) && (
                <>
                  {" "}
                  <a
                    href={`${root}/payments/${refund.payment_id}/refunds/${refund.id}/mark-denied/`}
                  >
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
