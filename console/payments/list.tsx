/** `/console/payments/`: finds payments. */

import type { FC } from "hono/jsx";
import type { FieldError } from "../../core/errors.ts";
import type { WalkCursor } from "../../core/lists/page.ts";
import type { PaymentSummary } from "../../core/payments/views.ts";
import { EXPORT_PAGE } from "../../core/reports/export_stream.ts";
import { exportPayments } from "../../core/reports/exports.ts";
import { sendFile } from "../../http/exports.ts";
import { encodeWalkCursor } from "../../http/lists/page.ts";
import { validationError } from "../../http/router.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { ExportLink } from "../shared/downloads.tsx";
import { errorsOf, explainField, type FieldLabels } from "../shared/explain.ts";
import { Frame } from "../shared/frame.tsx";
import { PAGE_SIZE } from "../shared/list_page.tsx";
import { PaymentFilters } from "./filters.tsx";
import { parseView, type PaymentQuery, paymentSearch, readPaymentQuery } from "./query.ts";
import { PaymentTable } from "./table.tsx";
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
    const { session } = await signedIn(c);
    const parsed = parseView(service, session.caller, {
      ...readPaymentQuery(c.req.url),
      cursor: "",
    });
    if ("errors" in parsed) throw validationError(parsed.errors);
    const source = exportPayments(service, session.caller, async (after: WalkCursor | null) => {
      const { payments, next } = await parsed.readView(EXPORT_PAGE, after);
      return { items: payments, next };
    });
    return await sendFile(c, service.exports, "payments", { ...source, hasByteOrderMark: true });
  });

  async function find({ session }: SignedInView, query: PaymentQuery): Promise<Found> {
    const parsed = parseView(service, session.caller, query);
    if ("errors" in parsed) return { payments: [], next: null, errors: parsed.errors };
    try {
      const { payments, next } = await parsed.readView(PAGE_SIZE, parsed.start);
      return { payments, next: next && encodeWalkCursor(next), errors: null };
    } catch (thrown) {
      return { payments: [], next: null, errors: errorsOf(thrown) };
    }
  }
}

interface Found {
  payments: PaymentSummary[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  /** What is wrong with the filters. */
  errors: FieldError[] | null;
}

/** The core has other names for some of the filters. */
function labelsOf({ words }: SignedInView): FieldLabels {
  const { labels } = words.paymentsPage;
  return { ...labels, created_from: labels.from, created_to: labels.to };
}

const PaymentsPage: FC<Found & { view: SignedInView; query: PaymentQuery }> = (props) => {
  const { view, query, payments, next, errors } = props;
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
        {payments.length === 0 && !errors && (
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
