/** `/console/invoices/`: finds invoices, and exports them. */

import type { FC } from "hono/jsx";
import type { FieldError } from "../core/errors.ts";
import type { InvoiceStatus } from "../core/invoices/states.ts";
import type { InvoiceView } from "../core/invoices/views.ts";
import { InvoiceExportQuery, invoicesFile, sendFile } from "../routes/exports/routes.ts";
import { InvoiceListQuery, readInvoicePage } from "../routes/invoices/routes.ts";
import { encodePosition } from "../routes/shared/page.ts";
import { validationError } from "../routes/shared/router.ts";
import { type ConsoleBase, EVENT_NAMES } from "./base.tsx";
import {
  Choices,
  endOfDay,
  Field,
  fieldErrorsOf,
  FilterErrors,
  type Filters,
  issuesOf,
  readFilters,
  startOfDay,
  toQuery,
  viewUrl,
} from "./fields.tsx";
import { dayName, rupiah } from "./format.ts";
import { Frame, Table, Time } from "./frame.tsx";
import type { SignedInView, View } from "./session.ts";

const PATH = "/invoices/";

/** `from` and `to`: days in Jakarta on which the invoice was created. */
const FILTERS = [
  "status",
  "customer_email",
  "invoice_number",
  "order_id",
  "due_from",
  "due_to",
  "from",
  "to",
];

export function addInvoices({ deps, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const filters = readFilters(c.req.url, FILTERS);
    const cursor = c.req.query("cursor");
    const parsed = InvoiceListQuery.safeParse({ ...toApiQuery(filters), cursor });
    const none = { view, filters, invoices: [], next: null, isFirst: true };
    if (!parsed.success) {
      return page(c, <InvoicesPage {...none} errors={issuesOf(parsed.error)} />, 400);
    }
    try {
      const { invoices, next } = await readInvoicePage(deps, view.session.caller, parsed.data);
      const found = { view, filters, invoices, next: next && encodePosition(next), errors: [] };
      return page(c, <InvoicesPage {...found} isFirst={cursor === undefined} />);
    } catch (error) {
      return page(c, <InvoicesPage {...none} errors={fieldErrorsOf(error)} />, 400);
    }
  });

  router.get(`${PATH}export/`, async (c) => {
    const { session } = await signedIn(c);
    const parsed = InvoiceExportQuery.safeParse(toApiQuery(readFilters(c.req.url, FILTERS)));
    if (!parsed.success) throw validationError(issuesOf(parsed.error));
    // With a byte order mark, because people open the file with Excel.
    const source = invoicesFile(deps, session.caller, { ...parsed.data, bom: "true" });
    return await sendFile(c, deps.exports, "invoices", source);
  });
}

/** The same as a query of `GET /invoices/`. */
function toApiQuery(filters: Filters): Record<string, string | string[]> {
  const { from, to, ...query } = toQuery(filters);
  return {
    ...query,
    ...from && { created_from: typeof from === "string" ? startOfDay(from) : from },
    ...to && { created_to: typeof to === "string" ? endOfDay(to) : to },
  };
}

interface InvoicesProps {
  view: SignedInView;
  filters: Filters;
  invoices: InvoiceView[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  isFirst: boolean;
  errors: FieldError[];
}

const InvoicesPage: FC<InvoicesProps> = ({ view, filters, invoices, next, isFirst, errors }) => {
  const { root, words: { invoicesPage: words, ...shared }, session } = view;
  const labels = {
    status: shared.status,
    customer_email: shared.email,
    invoice_number: words.number,
    order_id: words.orderId,
    due_from: words.dueFrom,
    due_to: words.dueTo,
    created_from: words.createdFrom,
    created_to: words.createdTo,
  };
  return (
    <Frame
      view={view}
      title={words.title}
      path={PATH}
      live={isFirst ? "*" : undefined}
      events={EVENT_NAMES}
    >
      <div class="title">
        <h1>{words.title}</h1>
        <div class="actions">
          <a class="button" href={viewUrl(`${root}${PATH}export/`, filters)}>{words.export}</a>
          {session.caller.isStaff && (
            <a class="button primary" href={`${root}${PATH}new/`}>{words.create}</a>
          )}
        </div>
      </div>
      <InvoiceFilters view={view} filters={filters} />
      <FilterErrors view={view} errors={errors} labels={labels} />
      {invoices.length > 0 && (
        <Table
          columns={[
            shared.created,
            words.number,
            shared.customer,
            words.due,
            <span class="amount">{shared.amount}</span>,
            shared.status,
          ]}
        >
          {invoices.map((invoice) => (
            <tr>
              <td>
                <Time view={view} at={invoice.created_at} />
              </td>
              <td>
                <a href={`${root}${PATH}${invoice.id}/`}>{invoice.invoice_number}</a>
              </td>
              <td>{invoice.customer_name}</td>
              <td>{dayName(invoice.due_date, shared.locale)}</td>
              <td class="amount">{rupiah(invoice.total_amount)}</td>
              <td>
                <InvoiceStatusLabel view={view} status={invoice.status} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {invoices.length === 0 && errors.length === 0 && (
        <p class="empty">{next === null ? words.none : words.noneOnPage}</p>
      )}
      {next !== null && (
        <a class="next" href={viewUrl(root + PATH, filters, next)}>{shared.nextPage}</a>
      )}
    </Frame>
  );
};

const InvoiceFilters: FC<{ view: View; filters: Filters }> = ({ view, filters }) => {
  const { root, words: { invoicesPage: words, ...shared } } = view;
  const valueOf = (name: string) => filters.get(name)?.[0] ?? "";
  const more = [
    ["order_id", words.orderId, "text"],
    ["due_from", words.dueFrom, "date"],
    ["due_to", words.dueTo, "date"],
    ["from", words.createdFrom, "date"],
    ["to", words.createdTo, "date"],
  ] as const;
  return (
    <form class="filters" action={root + PATH}>
      <Choices
        name="status"
        label={shared.status}
        chosen={filters.get("status") ?? []}
        options={words.statuses}
      />
      <Field
        name="customer_email"
        label={shared.email}
        type="email"
        value={valueOf("customer_email")}
      />
      <Field name="invoice_number" label={words.number} value={valueOf("invoice_number")} />
      <button type="submit">{shared.filter}</button>
      <a href={root + PATH}>{shared.reset}</a>
      <details class="more" open={more.some(([name]) => filters.has(name))}>
        <summary>{words.moreFilters}</summary>
        {more.map(([name, label, type]) => (
          <Field name={name} label={label} type={type} value={valueOf(name)} />
        ))}
      </details>
    </form>
  );
};

const TONES: Record<InvoiceStatus, string> = {
  pending: "wait",
  draft: "",
  sent: "wait",
  partial: "wait",
  overdue: "bad",
  paid: "good",
  void: "",
  failed: "bad",
};

/** The state as a coloured label. */
export const InvoiceStatusLabel: FC<{ view: View; status: InvoiceStatus }> = (
  { view, status },
) => <span class={`status ${TONES[status]}`}>{view.words.invoicesPage.statuses[status]}</span>;
