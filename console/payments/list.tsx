/** `/console/payments/`: finds payments. */

import type { FC } from "hono/jsx";
import type { Caller } from "../../core/auth/caller.ts";
import type { FieldError } from "../../core/errors.ts";
import type { WalkCursor } from "../../core/lists/page.ts";
import type { SearchReport } from "../../core/payments/search.ts";
import type { PaymentSummary } from "../../core/payments/views.ts";
import { EXPORT_PAGE } from "../../core/reports/export_stream.ts";
import { exportColumns, exportPayments, readWholePayments } from "../../core/reports/exports.ts";
import { encodeWalkCursor } from "../../http/lists/page.ts";
import { validationError } from "../../http/router.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { ExportLink, sendList } from "../shared/downloads.tsx";
import { errorsOf, explainField, type FieldLabels } from "../shared/explain.ts";
import { Frame } from "../shared/frame.tsx";
import { PAGE_SIZE } from "../shared/list_page.tsx";
import { fileColumns } from "./file_columns.ts";
import { PaymentFilters } from "./filters.tsx";
import {
  needsWholePayments,
  parseView,
  type PaymentQuery,
  paymentSearch,
  readPaymentQuery,
} from "./query.ts";
import { SearchResult } from "./search_result.tsx";
import { type ListedPayment, PaymentTable } from "./table.tsx";
import type { SignedInView } from "../shared/session.ts";

const PATH = "/payments/";

export function addPayments({ service, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const query = readPaymentQuery(c.req.url);
    const found = await find(view, query);
    return page(c, <PaymentsPage {...{ view, query }} {...found} />, found.errors ? 400 : 200);
  });

  router.get(`${PATH}export/`, async (c) => {
    const { session, words } = await signedIn(c);
    const query = { ...readPaymentQuery(c.req.url), cursor: "" };
    const parsed = parseView(service, session.caller, query);
    if ("errors" in parsed) throw validationError(parsed.errors);
    const readList = async (after: WalkCursor | null) => {
      const { payments, next } = await parsed.readView(EXPORT_PAGE, after);
      return { items: payments, next };
    };
    const columns = fileColumns(words, query.columns);
    return await sendList(c, service.exports, {
      name: "payments",
      title: words.payments,
      excel: exportColumns(readWholePayments(service, session.caller, readList), columns),
      csv: exportPayments(service, session.caller, readList),
    });
  });

  async function find({ session }: SignedInView, query: PaymentQuery): Promise<Found> {
    const parsed = parseView(service, session.caller, query);
    if ("errors" in parsed) return { payments: [], next: null, errors: parsed.errors };
    try {
      const { payments, next, search } = await parsed.readView(PAGE_SIZE, parsed.start);
      return {
        payments: needsWholePayments(query) ? await readWhole(session.caller, payments) : payments,
        next: next && encodeWalkCursor(next),
        errors: null,
        search,
      };
    } catch (thrown) {
      return { payments: [], next: null, errors: errorsOf(thrown) };
    }
  }

  async function readWhole(caller: Caller, items: PaymentSummary[]): Promise<ListedPayment[]> {
    const read = readWholePayments(service, caller, () => Promise.resolve({ items, next: null }));
    return (await read(null)).items;
  }
}

interface Found {
  payments: ListedPayment[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  /** What is wrong with the filters. */
  errors: FieldError[] | null;
  /** How the text of the search box was searched; absent or null: it is empty. */
  search?: SearchReport | null;
}

/** The core has other names for some of the filters. */
function labelsOf({ words }: SignedInView): FieldLabels {
  const { labels } = words.paymentsPage;
  return { ...labels, created_from: labels.from, created_to: labels.to };
}

const PaymentsPage: FC<Found & { view: SignedInView; query: PaymentQuery }> = (props) => {
  const { view, query, payments, next, errors, search } = props;
  const { root, words } = view;
  return (
    <Frame
      view={view}
      title={words.payments}
      path={PATH}
      live={query.cursor === "" ? "*" : undefined}
    >
      <div class="heading">
        <h1>{words.payments}</h1>
        {!errors && (
          <ExportLink view={view} path={PATH} search={paymentSearch({ ...query, cursor: "" })} />
        )}
      </div>
      <PaymentFilters view={view} query={query} />
      {errors && (
        <div role="alert" class="error">
          <p>{words.invalidFilter}</p>
          <ul>{errors.map((each) => <li>{explainField(view, each, labelsOf(view))}</li>)}</ul>
        </div>
      )}
      <div data-part="payments">
        {payments.length > 0 && (
          <PaymentTable view={view} payments={payments} columns={query.columns} />
        )}
        {search && (
          <SearchResult view={view} q={query.q} search={search} isEmpty={payments.length === 0} />
        )}
        {payments.length === 0 && !errors && !search && (
          <p class="empty">{next === null ? words.noPayments : words.noPaymentsOnPage}</p>
        )}
        {next !== null && (
          <a class="next" href={`${root}${PATH}?${paymentSearch({ ...query, cursor: next })}`}>
            {words.nextPage}
          </a>
        )}
      </div>
    </Frame>
  );
};
