/** `/console/invoices/`: finds invoices, and exports them. */

import type { FC } from "hono/jsx";
import { type FieldError, ServiceError } from "../core/errors.ts";
import type { InvoiceStatus } from "../core/invoices/states.ts";
import type { InvoiceView } from "../core/invoices/views.ts";
import type { Position } from "../core/page.ts";
import { EXPORT_PAGE } from "../core/reports/export_stream.ts";
import { exportInvoices } from "../core/reports/exports.ts";
import { sendFile } from "../routes/exports/routes.ts";
import { InvoiceListQuery, readInvoicePage } from "../routes/invoices/routes.ts";
import { encodePosition } from "../routes/shared/page.ts";
import { type ConsoleBase, EVENT_NAMES } from "./base.tsx";
import { dayName, rupiah } from "./format.ts";
import { Frame, Table, Time } from "./frame.tsx";
import {
  type Filters,
  issuesOf,
  ListFilters,
  readFilters,
  searchOf,
  toQuery,
} from "./list_filters.tsx";
import { ExportLink } from "./lists.tsx";
import { Boxes, Field } from "./payment_filters.tsx";
import { endOfDay, errorsOf, startOfDay } from "./payment_query.ts";
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
    const none = { view, filters, invoices: [], next: null, isFirst: false };
    if (!parsed.success) {
      return page(c, <InvoicesPage {...none} errors={issuesOf(parsed.error)} />, 400);
    }
    try {
      const { invoices, next } = await readInvoicePage(deps, view.session.caller, parsed.data);
      const found = { view, filters, invoices, next: next && encodePosition(next), errors: [] };
      return page(c, <InvoicesPage {...found} isFirst={cursor === undefined} />);
    } catch (thrown) {
      return page(c, <InvoicesPage {...none} errors={errorsOf(thrown)} />, 400);
    }
  });

  router.get(`${PATH}export/`, async (c) => {
    const { session } = await signedIn(c);
    const parsed = InvoiceListQuery.safeParse(toApiQuery(readFilters(c.req.url, FILTERS)));
    if (!parsed.success) {
      const [{ field, message }] = issuesOf(parsed.error) as [FieldError];
      throw new ServiceError("validation_error", { detail: `${field}: ${message}` });
    }
    const source = exportInvoices(deps, session.caller, async (after: Position | null) => {
      const query = { ...parsed.data, limit: EXPORT_PAGE, cursor: after ?? undefined };
      const { invoices, next } = await readInvoicePage(deps, session.caller, query);
      return { items: invoices, next };
    });
    return await sendFile(c, deps.exports, "invoices", { ...source, hasByteOrderMark: true });
  });
}

/** The filters as a query of `GET /invoices/`. */
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
  return (
    <Frame
      view={view}
      title={words.title}
      path={PATH}
      live={isFirst ? "*" : undefined}
      events={EVENT_NAMES}
    >
      <div class="heading">
        <h1>{words.title}</h1>
        <div class="actions">
          {errors.length === 0 && <ExportLink view={view} path={PATH} search={searchOf(filters)} />}
          {session.caller.isStaff && (
            <a class="button primary" href={`${root}${PATH}new/`}>{words.create}</a>
          )}
        </div>
      </div>
      <InvoiceFilters view={view} filters={filters} errors={errors} />
      <div data-part="invoices">
        {invoices.length > 0 && (
          <Table
            columns={[
              shared.amount,
              shared.status,
              words.number,
              shared.customer,
              words.due,
              shared.created,
            ]}
            amounts={[0]}
            class="payments"
          >
            {invoices.map((invoice) => (
              <tr>
                <td class="amount">{rupiah(invoice.total_amount)}</td>
                <td>
                  <InvoiceStatusLabel view={view} status={invoice.status} />
                </td>
                <td>
                  <a href={`${root}${PATH}${invoice.id}/`}>{invoice.invoice_number}</a>
                </td>
                <td>{invoice.customer_name}</td>
                <td>{dayName(invoice.due_date, shared.locale)}</td>
                <td>
                  <Time view={view} at={invoice.created_at} />
                </td>
              </tr>
            ))}
          </Table>
        )}
        {invoices.length === 0 && errors.length === 0 && (
          <p class="empty">{next === null ? words.none : words.noneOnPage}</p>
        )}
        {next !== null && (
          <a class="next" href={`${root}${PATH}?${searchOf(filters, next)}`}>{shared.nextPage}</a>
        )}
      </div>
    </Frame>
  );
};

interface FiltersProps {
  view: View;
  filters: Filters;
  errors: FieldError[];
}

const InvoiceFilters: FC<FiltersProps> = ({ view, filters, errors }) => {
  const { words: { invoicesPage: words, ...shared } } = view;
  const labels = {
    status: shared.status,
    customer_email: shared.email,
    invoice_number: words.number,
    order_id: words.orderId,
    due_from: words.dueFrom,
    due_to: words.dueTo,
    from: words.createdFrom,
    to: words.createdTo,
    // The names of `from` and `to` in the errors of the core.
    created_from: words.createdFrom,
    created_to: words.createdTo,
  };
  const input = (name: keyof typeof labels, type = "text") => (
    <Field name={name} label={labels[name]} type={type} value={filters.get(name)?.[0] ?? ""} />
  );
  return (
    <ListFilters
      view={view}
      path={PATH}
      filters={filters}
      labels={labels}
      names={{ status: words.statuses }}
      errors={errors}
    >
      <Boxes
        name="status"
        label={shared.status}
        chosen={filters.get("status") ?? []}
        options={Object.entries(words.statuses)}
      />
      <div class="fields">
        {input("customer_email", "email")}
        {input("invoice_number")}
        {input("order_id")}
        {input("due_from", "date")}
        {input("due_to", "date")}
        {input("from", "date")}
        {input("to", "date")}
      </div>
    </ListFilters>
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
