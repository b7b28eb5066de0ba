/** The filters of the page of payments: a search, a collapsed form, and the filters in use. */

import { FiltersInUse } from "../shared/filter_panel.tsx";
import type { FC } from "hono/jsx";
import { formatMoney, parseRupiah } from "../../core/money.ts";
import { PAYMENT_TYPES } from "../../core/payments/payment_types.ts";
import { PAYMENT_STATUSES } from "../../core/payments/states.ts";
import { Boxes, Choice, Field } from "../shared/fields.tsx";
import { fraudStatusName, methodName, paymentStatusName, rupiah } from "../shared/format.ts";
import {
  COLUMNS,
  DEFAULT_COLUMNS,
  FIELDS,
  type FilterName,
  LISTS,
  type PaymentQuery,
  paymentSearch,
} from "./query.ts";
import { QuickRanges } from "../shared/quick_ranges.tsx";
import type { SignedInView, View } from "../shared/session.ts";

interface FiltersProps {
  view: SignedInView;
  query: PaymentQuery;
}

export const PaymentFilters: FC<FiltersProps> = ({ view, query }) => {
  const { root, words } = view;
  const isDefault = query.columns.join() === DEFAULT_COLUMNS.join();
  return (
    <>
      <form class="search" role="search" action={`${root}/payments/`}>
        <label for="q">{words.search}</label>
        <input
          id="q"
          name="q"
          type="search"
          value={query.q}
          placeholder={words.searchHelp}
          aria-keyshortcuts="/"
        />
        {!isDefault &&
          query.columns.map((column) => <input type="hidden" name="column" value={column} />)}
        <button type="submit">{words.search}</button>
      </form>
      <details id="filters" class="folded">
        <summary>{words.paymentsPage.filters}</summary>
        <FilterForm view={view} query={query} />
      </details>
      <QuickRanges
        view={view}
        days={query}
        linkTo={(days) =>
          `${root}/payments/?${paymentSearch({ ...query, q: "", cursor: "", ...days })}`}
      />
      <Chosen view={view} query={query} />
      {query.q !== "" && <p class="help">{words.paymentsPage.searchesAll}</p>}
    </>
  );
};

/** The filters in use; each has a link that removes it. */
const Chosen: FC<FiltersProps> = ({ view, query }) => {
  const { root, words } = view;
  const { labels } = words.paymentsPage;
  const linkTo = (changes: Partial<PaymentQuery>) =>
    `${root}/payments/?${paymentSearch({ ...query, cursor: "", ...changes })}`;
  const chosen = [
    ...LISTS.flatMap((name) =>
      query[name].map((value) => ({
        text: `${labels[name]}: ${valueText(view, name, value)}`,
        link: linkTo({ [name]: query[name].filter((each) => each !== value) }),
      }))
    ),
    ...FIELDS.filter((name) => query[name] !== "").map((name) => ({
      text: `${labels[name]}: ${valueText(view, name, query[name])}`,
      link: linkTo({ [name]: "" }),
    })),
  ];
  const reset = linkTo(NO_FILTERS);
  return <FiltersInUse view={view} filters={chosen} reset={reset} />;
};

const NO_FILTERS: Partial<PaymentQuery> = {
  ...Object.fromEntries(FIELDS.map((name) => [name, ""])),
  status: [],
  payment_type: [],
  cursor: "",
};

/** A value of a filter as the page shows it. */
function valueText({ words }: View, name: string, value: string): string {
  const { outcomeUnknown, noOwner } = words.paymentsPage;
  if (name === "status") return paymentStatusName(words, value);
  if (name === "payment_type") return methodName(words, value);
  if (name === "fraud_status") return fraudStatusName(words, value);
  if (name === "outcome" && value === "unknown") return outcomeUnknown;
  if (name === "owner" && value === "none") return noOwner;
  const amount = name.endsWith("amount") ? parseRupiah(value) : null;
  return amount === null ? value : rupiah(formatMoney(amount));
}

const FilterForm: FC<FiltersProps> = ({ view, query }) => {
  const { root, words } = view;
  const { labels, columnNames, fraudStatuses } = words.paymentsPage;
  const input = (name: FilterName, type = "text") => (
    <Field name={name} label={labels[name]} type={type} value={query[name]} />
  );
  return (
    <form class="card" action={`${root}/payments/`}>
      <Boxes
        name="status"
        label={labels.status}
        chosen={query.status}
        options={PAYMENT_STATUSES.map((status) => [status, words.statuses[status]])}
      />
      <Boxes
        name="payment_type"
        label={labels.payment_type}
        chosen={query.payment_type}
        options={PAYMENT_TYPES.map((type) => [type, methodName(words, type)])}
      />
      <div class="fields">
        {input("from", "date")}
        {input("to", "date")}
        {input("settled_from", "date")}
        {input("settled_to", "date")}
        {input("min_amount")}
        {input("max_amount")}
        <Choice
          name="fraud_status"
          label={labels.fraud_status}
          value={query.fraud_status}
          options={fraudStatuses}
          any={words.any}
        />
        {input("customer_email", "email")}
        {input("customer_phone", "tel")}
        {input("order_id")}
        {input("transaction_id")}
        {input("va_number")}
        {input("user_id")}
        {input("invoice_id")}
        {input("subscription_id")}
      </div>
      <p class="help">{words.paymentsPage.amountHelp}</p>
      <Boxes
        name="column"
        label={words.paymentsPage.columns}
        chosen={query.columns}
        options={COLUMNS.map((column) => [column, columnNames[column]])}
      />
      <div class="actions">
        <button type="submit" class="primary">{words.apply}</button>
        <a class="button" href={`${root}/payments/`}>{words.reset}</a>
      </div>
    </form>
  );
};
