/** `/console/invoices/`: finds invoices, and exports them. */

import type { FC } from "hono/jsx";
import type { FieldError } from "../../core/errors.ts";
import type { InvoiceView } from "../../core/invoices/views.ts";
import { exportColumns, exportInvoices, type FileColumn } from "../../core/reports/exports.ts";
import { readInvoices } from "../../http/exports.ts";
import { InvoiceListQuery, readInvoicePage } from "../../http/lists/invoices.ts";
import { encodeWalkCursor } from "../../http/lists/page.ts";
import { validationError } from "../../http/router.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { endOfDay, startOfDay } from "../shared/days.ts";
import { amountCell, dayCell, ExportLink, sendList, timeCell } from "../shared/downloads.tsx";
import { Time } from "../shared/elements.tsx";
import { errorsOf, issuesOf } from "../shared/explain.ts";
import { Boxes, Field } from "../shared/fields.tsx";
import {
  FilterPanel,
  filterQuery,
  filterSearch,
  type FilterValues,
  readFilters,
} from "../shared/filter_panel.tsx";
import { dayName, rupiah } from "../shared/format.ts";
import { ListPage } from "../shared/list_page.tsx";
import type { SignedInView } from "../shared/session.ts";
import type { Words } from "../words/words.ts";
import { InvoiceStatusLabel } from "./display.tsx";

const PATH = "/invoices/";

/** `from` and `to`: days in Jakarta on which the invoice was created. */
const FILTERS = [
  "status",
  "customer_email",
  "invoice_number",
  "order_id",
  "user_id",
  "due_from",
  "due_to",
  "from",
  "to",
];

export function addInvoices({ service, router, signedIn, page }: ConsoleBase): void {
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
      const { invoices, next } = await readInvoicePage(service, view.session.caller, parsed.data);
      const found = { view, filters, invoices, next: next && encodeWalkCursor(next), errors: [] };
      return page(c, <InvoicesPage {...found} isFirst={cursor === undefined} />);
    } catch (thrown) {
      return page(c, <InvoicesPage {...none} errors={errorsOf(thrown)} />, 400);
    }
  });

  router.get(`${PATH}export/`, async (c) => {
    const { session, words } = await signedIn(c);
    const parsed = InvoiceListQuery.safeParse(toApiQuery(readFilters(c.req.url, FILTERS)));
    if (!parsed.success) throw validationError(issuesOf(parsed.error));
    const readList = readInvoices(service, session.caller, parsed.data);
    return await sendList(c, service.exports, {
      name: "invoices",
      title: words.invoicesPage.title,
      excel: exportColumns(readList, fileColumns(words)),
      csv: exportInvoices(service, session.caller, readList),
    });
  });
}

function fileColumns({ invoicesPage: words, ...shared }: Words): FileColumn<InvoiceView>[] {
  return [
    { name: shared.amount, valueOf: ({ total_amount }) => amountCell(total_amount) },
    { name: shared.status, valueOf: ({ status }) => words.statuses[status] },
    { name: words.number, valueOf: ({ invoice_number }) => invoice_number },
    { name: shared.customer, valueOf: ({ customer_name }) => customer_name },
    { name: words.due, valueOf: ({ due_date }) => dayCell(due_date) },
    { name: `${shared.created} (WIB)`, valueOf: ({ created_at }) => timeCell(created_at) },
  ];
}

/** The filters as a query of `GET /invoices/`. */
function toApiQuery(filters: FilterValues): Record<string, string | string[]> {
  const { from, to, ...query } = filterQuery(filters);
  return {
    ...query,
    ...from && { created_from: typeof from === "string" ? startOfDay(from) : from },
    ...to && { created_to: typeof to === "string" ? endOfDay(to) : to },
  };
}

interface InvoicesProps {
  view: SignedInView;
  filters: FilterValues;
  invoices: InvoiceView[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  isFirst: boolean;
  errors: FieldError[];
}

const InvoicesPage: FC<InvoicesProps> = ({ view, filters, invoices, next, isFirst, errors }) => {
  const { root, words: { invoicesPage: words, ...shared }, session } = view;
  const hasErrors = errors.length > 0;
  const rows = invoices.map((invoice) => [
    rupiah(invoice.total_amount),
    <InvoiceStatusLabel view={view} status={invoice.status} />,
    <a href={`${root}${PATH}${invoice.id}/`}>{invoice.invoice_number}</a>,
    invoice.customer_name,
    dayName(invoice.due_date, shared.locale),
    <Time view={view} at={invoice.created_at} />,
  ]);
  return (
    <ListPage
      view={view}
      title={words.title}
      path={PATH}
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
      rows={rows}
      next={next}
      query={[...filterSearch(filters)]}
      empty={hasErrors ? null : next === null ? words.none : words.noneOnPage}
      isLive={isFirst}
      action={
        <div class="actions">
          {!hasErrors && <ExportLink view={view} path={PATH} search={filterSearch(filters)} />}
          {session.caller.isStaff && (
            <a class="button primary" href={`${root}${PATH}new/`}>{words.create}</a>
          )}
        </div>
      }
    >
      <InvoiceFilters view={view} filters={filters} errors={errors} />
    </ListPage>
  );
};

interface FiltersProps {
  view: SignedInView;
  filters: FilterValues;
  errors: FieldError[];
}

const InvoiceFilters: FC<FiltersProps> = ({ view, filters, errors }) => {
  const { words: { invoicesPage: words, ...shared } } = view;
  const labels = {
    status: shared.status,
    customer_email: shared.email,
    invoice_number: words.number,
    order_id: words.orderId,
    user_id: shared.user,
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
    <FilterPanel
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
        {input("user_id")}
        {input("due_from", "date")}
        {input("due_to", "date")}
        {input("from", "date")}
        {input("to", "date")}
      </div>
    </FilterPanel>
  );
};
