/** `/console/payments/`: finds payments. */

import type { FC } from "hono/jsx";
import type { FieldError } from "../core/errors.ts";
import { PAYMENT_TYPES } from "../core/payments/charge_input.ts";
import { PAYMENT_STATUSES } from "../core/payments/states.ts";
import type { PaymentSummary } from "../core/payments/views.ts";
import { findPayments, PaymentListQuery } from "../routes/payments/list.ts";
import { encodePosition } from "../routes/shared/page.ts";
import { type ConsoleBase, EVENT_NAMES } from "./base.tsx";
import { methodName, rupiah } from "./format.ts";
import { Frame, Table, Time } from "./frame.tsx";
import type { SignedInView, View } from "./session.ts";

export function addPayments({ deps, router, signedIn, page }: ConsoleBase): void {
  router.get("/payments/", async (c) => {
    const view = await signedIn(c);
    const query = readQuery(c.req.url);
    const parsed = PaymentListQuery.safeParse(toApiQuery(query));
    if (!parsed.success) {
      const errors = parsed.error.issues.map(({ path, message }) => ({
        field: path.join("."),
        message,
      }));
      return page(c, <PaymentsPage {...{ view, query, errors }} payments={[]} next={null} />, 400);
    }
    const { payments, next } = await findPayments(deps, view.session.caller, parsed.data);
    const cursor = next && encodePosition(next);
    return page(c, <PaymentsPage {...{ view, query, payments }} next={cursor} errors={[]} />);
  });
}

/** The values of the form, as in the page's URL. */
interface PaymentQuery {
  q: string;
  status: string;
  payment_type: string;
  customer_email: string;
  /** Days in Jakarta, such as `2026-11-16`. */
  from: string;
  to: string;
  cursor: string;
}

/** Reads the form from the URL; other parameters are ignored. */
function readQuery(url: string): PaymentQuery {
  const search = new URL(url).searchParams;
  const get = (name: keyof PaymentQuery) => search.get(name)?.trim() ?? "";
  return {
    q: get("q"),
    status: get("status"),
    payment_type: get("payment_type"),
    customer_email: get("customer_email"),
    from: get("from"),
    to: get("to"),
    cursor: get("cursor"),
  };
}

/** The query of `GET /payments/` for this form. If it has a search text, the filters are unused. */
function toApiQuery(query: PaymentQuery): Record<string, string> {
  if (query.q !== "") return { q: query.q };
  const { from, to, status, payment_type, customer_email, cursor } = query;
  const all = {
    status,
    payment_type,
    customer_email,
    cursor,
    created_from: from && `${from}T00:00:00+07:00`,
    created_to: to && endOfDay(to),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

/** The beginning of the next day in Jakarta; an invalid day stays as it is, and is refused. */
export function endOfDay(day: string): string {
  const start = Date.parse(`${day}T00:00:00+07:00`);
  return Number.isNaN(start) ? day : new Date(start + 86_400_000).toISOString();
}

interface PaymentsProps {
  view: SignedInView;
  query: PaymentQuery;
  payments: PaymentSummary[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  errors: FieldError[];
}

const PaymentsPage: FC<PaymentsProps> = (props) => {
  const { view, query, payments, next, errors } = props;
  const { root, words } = view;
  return (
    <Frame
      view={view}
      title={words.payments}
      path="/payments/"
      live={query.cursor === "" ? "*" : undefined}
      events={EVENT_NAMES}
    >
      <h1>{words.payments}</h1>
      <PaymentFilters view={view} query={query} />
      {errors.length > 0 && (
        <div role="alert" class="error">
          <p>{words.invalidFilter}</p>
          <ul>{errors.map(({ field, message }) => <li>{`${field}: ${message}`}</li>)}</ul>
        </div>
      )}
      {payments.length > 0 && (
        <Table
          columns={[
            words.created,
            words.order,
            words.customer,
            words.method,
            words.amount,
            words.status,
          ]}
        >
          {payments.map((payment) => (
            <tr>
              <td>
                <Time view={view} at={payment.created_at} />
              </td>
              <td>
                <a href={`${root}/payments/${payment.id}/`}>{payment.order_id}</a>
              </td>
              <td>{payment.customer_email ?? "–"}</td>
              <td>{methodName(payment.payment_type)}</td>
              <td class="amount">{rupiah(payment.gross_amount)}</td>
              <td>
                <Status view={view} payment={payment} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {payments.length === 0 && errors.length === 0 && (
        <p class="empty">{next === null ? words.noPayments : words.noPaymentsOnPage}</p>
      )}
      {next !== null && <a class="next" href={pageUrl(view, query, next)}>{words.nextPage}</a>}
    </Frame>
  );
};

function pageUrl({ root }: View, query: PaymentQuery, cursor: string): string {
  const values = Object.entries({ ...query, cursor }).filter(([, value]) => value !== "");
  return `${root}/payments/?${new URLSearchParams(values)}`;
}

const PaymentFilters: FC<{ view: View; query: PaymentQuery }> = ({ view, query }) => {
  const { root, words } = view;
  const statuses = Object.fromEntries(
    PAYMENT_STATUSES.map((status) => [status, words.statuses[status]]),
  );
  const types = Object.fromEntries(PAYMENT_TYPES.map((type) => [type, methodName(type)]));
  return (
    <>
      <form class="search" role="search" action={`${root}/payments/`}>
        <label for="q">{words.search}</label>
        <input id="q" name="q" type="search" value={query.q} placeholder={words.searchHelp} />
        <button type="submit">{words.search}</button>
      </form>
      <form class="filters" action={`${root}/payments/`}>
        <Choice
          name="status"
          label={words.status}
          value={query.status}
          options={statuses}
          any={words.any}
        />
        <Choice
          name="payment_type"
          label={words.method}
          value={query.payment_type}
          options={types}
          any={words.any}
        />
        <Field
          name="customer_email"
          label={words.email}
          type="email"
          value={query.customer_email}
        />
        <Field name="from" label={words.from} type="date" value={query.from} />
        <Field name="to" label={words.to} type="date" value={query.to} />
        <button type="submit">{words.filter}</button>
        <a href={`${root}/payments/`}>{words.reset}</a>
      </form>
    </>
  );
};

interface ChoiceProps {
  name: string;
  label: string;
  value: string;
  options: Record<string, string>;
  any: string;
}

export const Choice: FC<ChoiceProps> = ({ name, label, value, options, any }) => (
  <div>
    <label for={name}>{label}</label>
    <select id={name} name={name}>
      <option value="">{any}</option>
      {Object.entries(options).map(([each, text]) => (
        <option value={each} selected={each === value}>{text}</option>
      ))}
    </select>
  </div>
);

interface FieldProps {
  name: string;
  label: string;
  type: string;
  value: string;
}

export const Field: FC<FieldProps> = ({ name, label, type, value }) => (
  <div>
    <label for={name}>{label}</label>
    <input id={name} name={name} type={type} value={value} />
  </div>
);

interface StatusProps {
  view: View;
  payment: Pick<PaymentSummary, "transaction_status" | "fraud_status">;
}

/** The state as a coloured label. A challenged card payment is shown as such. */
export const Status: FC<StatusProps> = ({ view, payment }) => {
  const { transaction_status: status, fraud_status } = payment;
  const isChallenged = fraud_status === "challenge" &&
    (status === "capture" || status === "authorize");
  return (
    <span class={`status ${isChallenged ? "challenge" : status}`}>
      {isChallenged ? view.words.challenged : view.words.statuses[status]}
    </span>
  );
};
