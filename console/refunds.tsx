/** `/console/refunds/`: the refunds of all payments. */

import { listRefunds, REFUND_STATUSES } from "../core/payments/read_refunds.ts";
import { encodeCursor } from "../routes/shared/page.ts";
import type { ConsoleBase } from "./base.tsx";
import { rupiah } from "./format.ts";
import { Time } from "./frame.tsx";
import { choose, cursorOf, ListPage, PAGE_SIZE } from "./lists.tsx";

const PATH = "/refunds/";

export function addRefunds({ deps, root, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words } = view;
    const status = choose(REFUND_STATUSES, c.req.query("status"));
    const { refunds, next } = await listRefunds(deps, view.session.caller, {
      statuses: status && [status],
      paymentId: null,
      createdFrom: null,
      createdTo: null,
      minAmount: null,
      maxAmount: null,
      limit: PAGE_SIZE,
      before: cursorOf(c),
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
        status={{ chosen: status ?? "", all: REFUND_STATUSES }}
        isLive
      />,
    );
  });
}
