/** The filters of the page of payments: a search, a collapsed form, and the filters in use. */

import type { Child, FC } from "hono/jsx";
import { PAYMENT_TYPES } from "../core/payments/charge_input.ts";
import { PAYMENT_STATUSES } from "../core/payments/states.ts";
import { methodName, rupiah } from "./format.ts";
import {
  COLUMNS,
  DEFAULT_COLUMNS,
  type Field as FieldName,
  FIELDS,
  LISTS,
  type PaymentQuery,
  searchOf,
} from "./payment_query.ts";
import type { View } from "./session.ts";

interface FiltersProps {
  view: View;
  query: PaymentQuery;
}

export const PaymentFilters: FC<FiltersProps> = ({ view, query }) => {
  const { root, words } = view;
  const isDefault = query.columns.join() === DEFAULT_COLUMNS.join();
  return (
    <>
      <form class="search" role="search" action={`${root}/payments/`}>
        <label for="q">{words.search}</label>
        <input id="q" name="q" type="search" value={query.q} placeholder={words.searchHelp} />
        {!isDefault &&
          query.columns.map((column) => <input type="hidden" name="column" value={column} />)}
        <button type="submit">{words.search}</button>
      </form>
      <details id="filters" class="folded">
        <summary>{words.paymentsPage.filters}</summary>
        <FilterForm view={view} query={query} />
      </details>
      <Chosen view={view} query={query} />
    </>
  );
};

/** The filters in use; each has a link that removes it. */
const Chosen: FC<FiltersProps> = ({ view, query }) => {
  const { root, words } = view;
  const { labels } = words.paymentsPage;
  const linkTo = (changes: Partial<PaymentQuery>) =>
    `${root}/payments/?${searchOf({ ...query, cursor: "", ...changes })}`;
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
  if (chosen.length === 0) return null;
  const without = { ...query, ...NO_FILTERS };
  return (
    <ul class="chosen" aria-label={words.paymentsPage.chosen}>
      {chosen.map(({ text, link }) => (
        <li>
          <a href={link} aria-label={`${words.paymentsPage.remove} ${text}`}>
            {text} <span aria-hidden="true">✕</span>
          </a>
        </li>
      ))}
      <li>
        <a class="plain" href={`${root}/payments/?${searchOf(without)}`}>{words.reset}</a>
      </li>
    </ul>
  );
};

const NO_FILTERS: Partial<PaymentQuery> = {
  ...Object.fromEntries(FIELDS.map((name) => [name, ""])),
  status: [],
  payment_type: [],
  cursor: "",
};

/** A value of a filter as the page shows it. */
function valueText({ words }: View, name: string, value: string): string {
  const { fraudStatuses, outcomeUnknown } = words.paymentsPage;
  if (name === "status") return (words.statuses as Record<string, string>)[value] ?? value;
  if (name === "payment_type") return methodName(value);
  if (name === "fraud_status") return fraudStatuses[value] ?? value;
  if (name === "outcome" && value === "unknown") return outcomeUnknown;
  return name.endsWith("amount") && /^\d+$/.test(value) ? rupiah(value) : value;
}

const FilterForm: FC<FiltersProps> = ({ view, query }) => {
  const { root, words } = view;
  const { labels, columnNames, fraudStatuses } = words.paymentsPage;
  const input = (name: FieldName, type = "text") => (
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
        options={PAYMENT_TYPES.map((type) => [type, methodName(type)])}
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
        <button type="submit" class="primary">{words.paymentsPage.apply}</button>
        <a class="button" href={`${root}/payments/`}>{words.reset}</a>
      </div>
    </form>
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

interface BoxesProps {
  name: string;
  label: Child;
  chosen: readonly string[];
  options: [value: string, text: string][];
}

/** Checkboxes, to choose several values. */
export const Boxes: FC<BoxesProps> = ({ name, label, chosen, options }) => (
  <fieldset class="boxes">
    <legend>{label}</legend>
    {options.map(([value, text]) => (
      <label>
        <input type="checkbox" name={name} value={value} checked={chosen.includes(value)} /> {text}
      </label>
    ))}
  </fieldset>
);
