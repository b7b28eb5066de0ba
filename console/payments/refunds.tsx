/** `/console/refunds/`: the refunds of all payments. */

import { REFUND_STATUSES } from "../../core/payments/read_refunds.ts";
import { refundSource, sendFile } from "../../http/exports.ts";
import { readRefundPage } from "../../http/lists/refunds.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { ExportLink } from "../shared/downloads.tsx";
import { Time } from "../shared/elements.tsx";
import { rupiah } from "../shared/format.ts";
import { choose, cursorOf, ListPage, PAGE_SIZE } from "../shared/list_page.tsx";

const PATH = "/refunds/";

export function addRefunds({ service, root, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words } = view;
    const status = choose(REFUND_STATUSES, c.req.query("status"));
    const { refunds, next } = await readRefundPage(service, view.session.caller, {
      ...filterBy(status),
      limit: PAGE_SIZE,
      cursor: cursorOf(c) ?? undefined,
    });
    const rows = refunds.map((refund) => [
      <Time view={view} at={refund.created_at} />,
      <a href={`${root}/payments/${refund.payment_id}/`}>{refund.order_id}</a>,
      rupiah(refund.amount),
      refund.reason ?? "–",
      words.refundStatuses[refund.status],
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.refundsPage}
        path={PATH}
        columns={[words.created, words.order, words.amount, words.reason, words.status]}
        rows={rows}
        next={next && encodeCursor(next)}
        status={{ chosen: status ?? "", all: REFUND_STATUSES, names: words.refundStatuses }}
        amounts={[2]}
        action={
          <ExportLink
            view={view}
            path={PATH}
            search={new URLSearchParams(status === null ? {} : { status })}
          />
        }
        isLive
      />,
    );
  });

  router.get(`${PATH}export/`, async (c) => {
    const { session } = await signedIn(c);
    const status = choose(REFUND_STATUSES, c.req.query("status"));
    const source = refundSource(service, session.caller, filterBy(status));
    return await sendFile(c, service.exports, "refunds", { ...source, hasByteOrderMark: true });
  });
}

type RefundStatus = (typeof REFUND_STATUSES)[number];

function filterBy(status: RefundStatus | null) {
  return status === null ? {} : { status: [status] };
}
