/** `/console/payments/{id}/`: one payment, and the confirmations of its actions. */

import type { Child, FC } from "hono/jsx";
import { raw } from "hono/html";
import { renderSVG } from "uqr";
import type { PaymentAction } from "../core/payments/states.ts";
import type { PaymentView } from "../core/payments/views.ts";
import { methodName, rupiah } from "./format.ts";
import { FormToken, Frame, Table, Time } from "./frame.tsx";
import { Status } from "./payments.tsx";
import type { SignedInView, View } from "./session.ts";

interface PaymentProps {
  view: SignedInView;
  payment: PaymentView;
  /** What the last form did. */
  message: string | null;
  events: readonly string[];
}

export const PaymentPage: FC<PaymentProps> = ({ view, payment, message, events }) => {
  const { words } = view;
  return (
    <Frame
      view={view}
      title={payment.order_id}
      path={`/payments/${payment.id}/`}
      live={payment.id}
      events={events}
    >
      <p><a href={`${view.root}/payments/`}>← {words.payments}</a></p>
      {message && <p role="status" class="done">{message}</p>}
      <h1>
        {rupiah(payment.gross_amount)} <Status view={view} payment={payment} />
      </h1>
      <p class="subtitle">{payment.order_id}</p>
      <div class="columns">
        <div>
          <Details view={view} payment={payment} />
          <Items view={view} payment={payment} />
          <Refunds view={view} payment={payment} />
        </div>
        <div>
          <Actions view={view} payment={payment} />
          <CustomerSees view={view} payment={payment} />
        </div>
      </div>
    </Frame>
  );
};

interface PartProps {
  view: View;
  payment: PaymentView;
}

const Details: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  const name = [payment.customer_first_name, payment.customer_last_name].filter(Boolean).join(" ");
  return (
    <section class="card" aria-labelledby="details">
      <h2 id="details">{words.details}</h2>
      <Facts
        facts={{
          [words.method]: methodName(payment.payment_type, payment.bank),
          [words.requested]: rupiah(payment.gross_amount),
          [words.captured]: payment.captured_amount && rupiah(payment.captured_amount),
          [words.refunded]: rupiah(payment.refund_amount),
          [words.net]: payment.net_amount && rupiah(payment.net_amount),
          [words.name]: name,
          [words.email]: payment.customer_email,
          [words.phone]: payment.customer_phone,
          [words.created]: <Time view={view} at={payment.created_at} />,
          [words.expires]: payment.expiry_time && <Time view={view} at={payment.expiry_time} />,
          [words.settled]: payment.settlement_time &&
            <Time view={view} at={payment.settlement_time} />,
          [words.transaction]: payment.transaction_id && <code>{payment.transaction_id}</code>,
          ID: <code>{payment.id}</code>,
          [words.gatewayMessage]: payment.status_message,
        }}
      />
    </section>
  );
};

/** Facts without a value are left out. */
const Facts: FC<{ facts: Record<string, Child> }> = ({ facts }) => (
  <dl>
    {Object.entries(facts).filter(([, value]) => value !== null && value !== "").map((
      [name, value],
    ) => (
      <div>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

const CustomerSees: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  const facts: Record<string, Child> = {
    [words.account]: payment.va_number && <code>{payment.va_number}</code>,
    [words.billerCode]: payment.biller_code && <code>{payment.biller_code}</code>,
    [words.billKey]: payment.bill_key && <code>{payment.bill_key}</code>,
    [words.paymentCode]: payment.payment_code && <code>{payment.payment_code}</code>,
    [words.paymentLink]: linkTo(payment.redirect_url ?? payment.deeplink_url),
    [words.qrCode]: payment.qr_string && raw(renderSVG(payment.qr_string, { pixelSize: 4 })),
  };
  if (Object.values(facts).every((fact) => fact === null)) return null;
  return (
    <section class="card" aria-labelledby="customer">
      <h2 id="customer">{words.customerSees}</h2>
      <Facts facts={facts} />
    </section>
  );
};

/** The gateway chooses these addresses: only web addresses become links. */
function linkTo(url: string | null): Child {
  if (url === null) return null;
  return /^https?:\/\//.test(url)
    ? <a href={url} rel="noreferrer" target="_blank">{url}</a>
    : <code>{url}</code>;
}

const Items: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  if (payment.items.length === 0) return null;
  return (
    <section class="card" aria-labelledby="items">
      <h2 id="items">{words.items}</h2>
      <Table columns={[words.item, words.price, words.quantity, words.subtotal]}>
        {payment.items.map((item) => (
          <tr>
            <td>{item.name}</td>
            <td class="amount">{rupiah(item.price)}</td>
            <td class="amount">{item.quantity}</td>
            <td class="amount">{rupiah(item.subtotal)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
};

const Refunds: FC<PartProps> = ({ view, payment }) => {
  const { words } = view;
  if (payment.refunds.length === 0) return null;
  return (
    <section class="card" aria-labelledby="refunds">
      <h2 id="refunds">{words.refunds}</h2>
      <Table columns={[words.created, words.amount, words.reason, words.status]}>
        {payment.refunds.map((refund) => (
          <tr>
            <td><Time view={view} at={refund.created_at} /></td>
            <td class="amount">{rupiah(refund.amount)}</td>
            <td>{refund.reason ?? "–"}</td>
            <td>{words.refundStatuses[refund.status]}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
};

const Actions: FC<PartProps> = ({ view, payment }) => {
  const { root, words, session } = view;
  const path = `${root}/payments/${payment.id}`;
  if (!session!.caller.isStaff) return <p class="card">{words.viewersCannotAct}</p>;
  return (
    <section class="card" aria-labelledby="actions">
      <h2 id="actions">{words.actions}</h2>
      {payment.allowed_actions.length === 0 && <p>{words.noActions}</p>}
      <div class="actions">
        {payment.allowed_actions.map((action) => (
          <a class="button" href={`${path}/${action}/`}>{words.actionNames[action]}</a>
        ))}
      </div>
      <form method="post" action={`${path}/check-status/`}>
        <FormToken view={view} />
        <button>{words.checkStatus}</button>
      </form>
    </section>
  );
};

interface ConfirmProps {
  view: SignedInView;
  payment: PaymentView;
  action: PaymentAction;
  /** Chosen when the form is rendered: a form that is sent twice acts once. */
  idempotencyKey: string;
  /** The amount in the form, in whole rupiah; null: the action has no amount. */
  amount: string | null;
  reason: string;
  error: string | null;
}

/** Asks before an action, and says what it does. Shown again with the error if the action fails. */
export const ConfirmPage: FC<ConfirmProps> = (props) => {
  const { view, payment, action, idempotencyKey, amount, reason, error } = props;
  const { root, words } = view;
  const path = `/payments/${payment.id}/${action}/`;
  return (
    <Frame view={view} title={words.actionNames[action]} path={path}>
      <section class="card narrow">
        <h1>{words.actionNames[action]}</h1>
        {error && <p role="alert" class="error">{error}</p>}
        <Facts
          facts={{
            [words.order]: payment.order_id,
            [words.amount]: rupiah(payment.gross_amount),
            [words.status]: <Status view={view} payment={payment} />,
          }}
        />
        <p>{words.actionEffects[action]}</p>
        <form method="post" action={root + path}>
          <FormToken view={view} />
          <input type="hidden" name="key" value={idempotencyKey} />
          {amount !== null && (
            <>
              <label for="amount">
                {action === "refund" ? words.amountToRefund : words.amountToCapture}
              </label>
              <input
                id="amount"
                name="amount"
                inputmode="numeric"
                pattern="[0-9]+"
                required
                value={amount}
                aria-describedby="limit"
              />
              <p id="limit" class="help">
                {words.atMost} {rupiah(`${amountLimit(payment, action)}`)}
              </p>
            </>
          )}
          {action === "refund" && (
            <>
              <label for="reason">{words.reason}</label>
              <input id="reason" name="reason" maxlength={255} value={reason} aria-describedby="why" />
              <p id="why" class="help">{words.reasonHelp}</p>
            </>
          )}
          <div class="actions">
            <button class={action === "approve" || action === "capture" ? "primary" : "danger"}>
              {words.actionNames[action]}
            </button>
            <a class="button" href={`${root}/payments/${payment.id}/`}>{words.back}</a>
          </div>
        </form>
      </section>
    </Frame>
  );
};

/** What can be refunded or captured now, in whole rupiah; null: the action has no amount. */
export function amountLimit(payment: PaymentView, action: PaymentAction): string | null {
  if (action === "capture") return wholeRupiah(payment.gross_amount);
  if (action !== "refund") return null;
  const open = payment.refunds.filter(({ status }) => status === "pending")
    .reduce((sum, { amount }) => sum + BigInt(wholeRupiah(amount)), 0n);
  return String(BigInt(wholeRupiah(payment.net_amount ?? "0")) - open);
}

/** Amounts in rupiah have no cents. */
function wholeRupiah(amount: string): string {
  return amount.split(".")[0]!;
}
