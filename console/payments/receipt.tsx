/** `/console/payments/{id}/receipt/`: a receipt for the customer, to print or to save as PDF. */

import type { FC } from "hono/jsx";
import { ServiceError } from "../../core/errors.ts";
import { readPaidTime } from "../../core/payments/read.ts";
import type { PaymentView } from "../../core/payments/views.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { breakEmail } from "../shared/customer_link.tsx";
import { BackLink, Facts, ItemTable, Time } from "../shared/elements.tsx";
import { methodName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView } from "../shared/session.ts";
import { chargebackOf, hasReceipt, readPaymentFor } from "./payment.tsx";

export function addReceipt({ service, router, signedIn, page }: ConsoleBase): void {
  router.get("/payments/:id/receipt/", async (c) => {
    const view = await signedIn(c);
    const payment = await readPaymentFor(service, view, parsePathId(c.req.param("id")));
    if (!hasReceipt(payment)) throw new ServiceError("not_found");
    const paidAt = await readPaidTime(service, view.session.caller, payment.id);
    const props = { view, payment, paidAt, merchant: service.merchant.name };
    return page(c, <ReceiptPage {...props} />);
  });
}

interface ReceiptProps {
  view: SignedInView;
  payment: PaymentView;
  paidAt: Date | null;
  merchant: string | null;
}

const ReceiptPage: FC<ReceiptProps> = ({ view, payment, paidAt, merchant }) => {
  const { words } = view;
  const texts = words.receipt;
  const path = `/payments/${payment.id}/`;
  const chargeback = chargebackOf(view, payment);
  const customer = [payment.customer_first_name, payment.customer_last_name].filter(Boolean);
  return (
    <Frame view={view} title={`${texts.title} ${payment.order_id}`} path={`${path}receipt/`}>
      <BackLink view={view} to={path}>{payment.order_id}</BackLink>
      <article class="card receipt">
        {merchant && <p class="merchant">{merchant}</p>}
        <h1>{texts.title}</h1>
        <Facts
          facts={{
            [words.order]: payment.order_id,
            [texts.paidOn]: <Time view={view} at={paidTime(payment, paidAt)} />,
            [words.method]: methodName(words, payment.payment_type, payment.bank),
            [words.customer]: customer.join(" "),
            [words.email]: breakEmail(payment.customer_email),
            [words.transaction]: payment.transaction_id,
          }}
        />
        {payment.items.length > 0 && <ItemTable view={view} items={payment.items} />}
        <p class="total">
          {texts.paid} <span class="amount">{rupiah(payment.captured_amount!)}</span>
        </p>
        {Number(payment.refund_amount) > 0 && (
          <p class="total">
            {words.refunded} <span class="amount">{rupiah(payment.refund_amount)}</span>
          </p>
        )}
        {chargeback && (
          <p class="total">
            {words.paymentPage.chargedBack} <span class="amount">{chargeback}</span>
          </p>
        )}
        <p class="help">{texts.thanks}</p>
      </article>
      <p class="help no-print">{texts.printHelp}</p>
    </Frame>
  );
};

/**
 * The gateway names the time of the settlement. That of a card is a day after the payment, and the
 * time of its transaction is before 3-D Secure.
 */
function paidTime(payment: PaymentView, paidAt: Date | null): string | null {
  const { payment_type, settlement_time, transaction_time } = payment;
  const isCard = payment_type === "credit_card";
  return (isCard ? null : settlement_time) ?? paidAt?.toISOString() ?? transaction_time;
}
