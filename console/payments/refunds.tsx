/** `/console/refunds/`: the refunds of all payments. */

import type { FC } from "hono/jsx";
import { REFUND_STATUSES } from "../../core/payments/read_refunds.ts";
import type { RefundDetailsView, RefundView } from "../../core/payments/views.ts";
import { exportColumns, exportRefunds, type FileColumn } from "../../core/reports/exports.ts";
import { readRefunds } from "../../http/exports.ts";
import { readRefundPage } from "../../http/lists/refunds.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { amountCell, ExportLink, sendList, timeCell } from "../shared/downloads.tsx";
import { timesOf } from "../shared/days.ts";
import { Time } from "../shared/elements.tsx";
import { rupiah } from "../shared/format.ts";
import { Choice } from "../shared/fields.tsx";
import { FilterBar, readFields, sentFields } from "../shared/filter_bar.tsx";
import { choose, cursorOf, ListPage, PAGE_SIZE } from "../shared/list_page.tsx";
import type { View } from "../shared/session.ts";
import type { Words } from "../words/words.ts";

const PATH = "/refunds/";

const FIELDS = ["status", "from", "to"] as const;

export function addRefunds({ service, root, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words } = view;
    const query = readFields(c, FIELDS);
    const { refunds, next } = await readRefundPage(service, view.session.caller, {
      ...filtersOf(query),
      limit: PAGE_SIZE,
      cursor: cursorOf(c) ?? undefined,
    });
    const rows = refunds.map((refund) => [
      <Time view={view} at={refund.created_at} />,
      <a href={`${root}/payments/${refund.payment_id}/`}>{refund.order_id}</a>,
      rupiah(refund.amount),
      refund.reason ?? "–",
      refunderOf(view, refund),
      <RefundStatus view={view} refund={refund} />,
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.refundsPage}
        path={PATH}
        columns={[
          words.created,
          words.order,
          words.amount,
          words.reason,
          words.refundedBy,
          words.status,
        ]}
        rows={rows}
        next={next && encodeCursor(next)}
        query={sentFields(query)}
        amounts={[2]}
        action={
          <ExportLink
            view={view}
            path={PATH}
            search={new URLSearchParams(sentFields(query))}
          />
        }
        isLive
      >
        <FilterBar view={view} path={PATH} days={query}>
          <Choice
            name="status"
            label={words.status}
            value={choose(REFUND_STATUSES, query.status) ?? ""}
            options={words.refundStatuses}
            any={words.any}
          />
        </FilterBar>
      </ListPage>,
    );
  });

  router.get(`${PATH}export/`, async (c) => {
    const { session, words } = await signedIn(c);
    const readList = readRefunds(service, session.caller, filtersOf(readFields(c, FIELDS)));
    return await sendList(c, service.exports, {
      name: "refunds",
      title: words.refundsPage,
      excel: exportColumns(readList, fileColumns(words)),
      csv: exportRefunds(service, session.caller, readList),
    });
  });
}

/** Who requested the refund. */
export function refunderOf({ words }: Pick<View, "words">, refund: RefundDetailsView): string {
  return refund.created_by_name ?? (refund.created_by === null ? words.atGateway : "–");
}

function fileColumns(words: Words): FileColumn<RefundDetailsView>[] {
  return [
    { name: `${words.created} (WIB)`, valueOf: ({ created_at }) => timeCell(created_at) },
    { name: words.order, valueOf: ({ order_id }) => order_id },
    { name: words.amount, valueOf: ({ amount }) => amountCell(amount) },
    { name: words.reason, valueOf: ({ reason }) => reason },
    { name: words.refundedBy, valueOf: (refund) => refunderOf({ words }, refund) },
    { name: words.status, valueOf: ({ status }) => words.refundStatuses[status] },
    { name: words.gatewayMessage, valueOf: failureReason },
  ];
}

/** The gateway's reason; null: it has given none, or the refund did not fail. */
function failureReason({ status, status_message }: RefundView): string | null {
  return status === "denied" || status === "failed" ? status_message : null;
}

/** The status, and the gateway's reason if the refund was not made. */
export const RefundStatus: FC<{ view: View; refund: RefundView }> = ({ view, refund }) => {
  const reason = failureReason(refund);
  return (
    <>
      {view.words.refundStatuses[refund.status]}
      {reason && <span class="faint">{reason}</span>}
    </>
  );
};

function filtersOf(query: Record<(typeof FIELDS)[number], string>) {
  const status = choose(REFUND_STATUSES, query.status);
  return { ...timesOf(query), ...status && { status: [status] } };
}
