/** `/console/customers/?email=…` or `?phone=…`: everything about one customer. */

import type { Child, FC } from "hono/jsx";
import { type CustomerView, MAX_ADDED_UP, readCustomer } from "../../core/reports/customers.ts";
import { PaymentListQuery } from "../../http/lists/payments.ts";
import { InvoiceStatusLabel } from "../invoices/display.tsx";
import { LinkedPayments } from "../payments/linked_payments.tsx";
import { refunderOf, RefundStatus } from "../payments/refunds.tsx";
import type { ConsoleBase } from "../shared/base.tsx";
import { breakEmail } from "../shared/customer_link.tsx";
import { BackLink, Card, Facts, Table, Time } from "../shared/elements.tsx";
import { explainField, issuesOf } from "../shared/explain.ts";
import { Field } from "../shared/fields.tsx";
import { readFields } from "../shared/filter_bar.tsx";
import { dayName, methodName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView } from "../shared/session.ts";
import { SubscriptionStatusLabel } from "../subscriptions/display.tsx";

const PATH = "/customers/";

export function addCustomer({ service, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { email, phone } = readFields(c, ["email", "phone"]);
    const sent = email === "" ? { customer_phone: phone } : { customer_email: email };
    const shown = { view, email, phone };
    if (email === "" && phone === "") {
      return page(c, <CustomerPage {...shown} customer={null} error={null} />);
    }
    const parsed = PaymentListQuery.safeParse(sent);
    if (!parsed.success) {
      const error = explainField(view, issuesOf(parsed.error)[0]!, view.words.paymentsPage.labels);
      return page(c, <CustomerPage {...shown} customer={null} error={error} />, 400);
    }
    const { customer_email, customer_phone } = parsed.data;
    const customer = await readCustomer(
      service,
      view.session.caller,
      customer_email === undefined ? { customer_phone: customer_phone! } : { customer_email },
    );
    return page(c, <CustomerPage {...shown} customer={customer} error={null} />);
  });
}

interface CustomerProps {
  view: SignedInView;
  /** What was searched; one of them, or none. */
  email: string;
  phone: string;
  customer: CustomerView | null;
  error: string | null;
}

const CustomerPage: FC<CustomerProps> = ({ view, email, phone, customer, error }) => {
  const { root, words } = view;
  return (
    <Frame view={view} title={email || phone || words.customer} path={PATH}>
      <BackLink view={view} to="/payments/">{words.payments}</BackLink>
      <h1>{breakEmail(email) || phone || words.customer}</h1>
      <form class="filters" action={root + PATH}>
        <Field name="email" label={words.email} type="email" value={email} />
        <Field name="phone" label={words.phone} type="tel" value={email === "" ? phone : ""} />
        <button type="submit">{words.search}</button>
      </form>
      {error && <p role="alert" class="error">{error}</p>}
      {customer && <CustomerCards view={view} email={email} phone={phone} customer={customer} />}
    </Frame>
  );
};

const CustomerCards: FC<Omit<CustomerProps, "error"> & { customer: CustomerView }> = (props) => {
  const { view, email, phone, customer } = props;
  const { root, words } = view;
  const { sums, payments } = customer;
  const filter: Record<string, string> = email === ""
    ? { customer_phone: phone }
    : { customer_email: email };
  return (
    <>
      <section class="card amounts" aria-labelledby="amounts">
        <h2 id="amounts">{words.customerPage.sums}</h2>
        <Facts
          facts={{
            [words.customerPage.count]: words.customerPage.paidOf(sums.paidCount, sums.count),
            [words.customerPage.paid]: rupiah(sums.paid),
            [words.refunded]: rupiah(sums.refunded),
            [words.paymentPage.chargedBack]: Number(sums.chargedBack) > 0
              ? rupiah(sums.chargedBack)
              : null,
            [words.net]: rupiah(sums.net),
          }}
        />
        {!sums.isComplete && (
          <p class="help">
            {words.customerPage.newest(MAX_ADDED_UP.toLocaleString(view.language))}
          </p>
        )}
      </section>
      <LinkedPayments
        view={view}
        title={words.payments}
        payments={payments}
        none={words.noPayments}
      />
      {sums.count > payments.length && (
        <p>
          <a href={`${root}/payments/?${new URLSearchParams(filter)}`}>
            {words.customerPage.allPayments}
          </a>
        </p>
      )}
      <Refunds view={view} customer={customer} />
      <Invoices view={view} customer={customer} />
      <Subscriptions view={view} customer={customer} />
    </>
  );
};

interface ListProps {
  view: SignedInView;
  customer: CustomerView;
}

const Refunds: FC<ListProps> = ({ view, customer: { refunds } }) => {
  const { root, words } = view;
  return (
    <List
      id="refunds"
      title={words.refundsPage}
      none={words.customerPage.noRefunds}
      columns={[
        words.amount,
        words.status,
        words.order,
        words.reason,
        words.refundedBy,
        words.created,
      ]}
      rows={refunds.map((refund) => [
        rupiah(refund.amount),
        <RefundStatus view={view} refund={refund} />,
        <a href={`${root}/payments/${refund.payment_id}/`}>{refund.order_id}</a>,
        refund.reason ?? "–",
        refunderOf(view, refund),
        <Time view={view} at={refund.created_at} />,
      ])}
    />
  );
};

const Invoices: FC<ListProps> = ({ view, customer: { invoices } }) => {
  const { root, words: { invoicesPage: words, ...shared } } = view;
  return (
    <List
      id="invoices"
      title={words.title}
      none={shared.customerPage.noInvoices}
      columns={[shared.amount, shared.status, words.number, words.due, shared.created]}
      rows={invoices.map((invoice) => [
        rupiah(invoice.total_amount),
        <InvoiceStatusLabel view={view} status={invoice.status} />,
        <a href={`${root}/invoices/${invoice.id}/`}>{invoice.invoice_number}</a>,
        dayName(invoice.due_date, shared.locale),
        <Time view={view} at={invoice.created_at} />,
      ])}
    />
  );
};

const Subscriptions: FC<ListProps> = ({ view, customer: { subscriptions } }) => {
  const { root, words } = view;
  return (
    <List
      id="subscriptions"
      title={words.subscriptionsPage.title}
      none={words.customerPage.noSubscriptions}
      columns={[words.amount, words.status, words.name, words.method, words.created]}
      rows={subscriptions.map((subscription) => [
        rupiah(subscription.amount),
        <SubscriptionStatusLabel view={view} status={subscription.status} />,
        <a href={`${root}/subscriptions/${subscription.id}/`}>{subscription.name}</a>,
        methodName(words, subscription.payment_type),
        <Time view={view} at={subscription.created_at} />,
      ])}
    />
  );
};

interface CardListProps {
  id: string;
  title: string;
  /** Shown if there are no rows. */
  none: string;
  /** The first column has amounts. */
  columns: Child[];
  rows: Child[][];
}

const List: FC<CardListProps> = ({ id, title, none, columns, rows }) => (
  <Card id={id} title={title}>
    {rows.length === 0
      ? <p class="help">{none}</p>
      : (
        <Table label={title} columns={columns} amounts={[0]} class="payments cards">
          {rows.map(([amount, ...cells]) => (
            <tr>
              <td class="amount">{amount}</td>
              {cells.map((cell) => <td>{cell}</td>)}
            </tr>
          ))}
        </Table>
      )}
  </Card>
);
