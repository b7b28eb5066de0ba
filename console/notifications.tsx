/** `/console/notifications/`: what the gateway sent, and what came of it. */

import {
  listNotifications,
  NOTIFICATION_STATUSES,
  replayNotification,
} from "../core/notifications/read.ts";
import { encodePosition } from "../routes/shared/page.ts";
import { parsePathId } from "../routes/shared/paths.ts";
import type { ConsoleBase } from "./base.tsx";
import { rupiah } from "./format.ts";
import { FormToken, Time } from "./frame.tsx";
import { choose, ListPage, PAGE_SIZE, positionOf } from "./lists.tsx";

const PATH = "/notifications/";

export function addNotifications(base: ConsoleBase): void {
  const { deps, root, router, signedIn, formOf, page } = base;

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words, session } = view;
    const status = choose(NOTIFICATION_STATUSES, c.req.query("status"));
    const { notifications, next } = await listNotifications(deps, session.caller, {
      ...status && { status: [status] },
      limit: PAGE_SIZE,
      after: positionOf(c),
    });
    const rows = notifications.map((each) => [
      <Time view={view} at={each.created_at} />,
      each.payment_id
        ? <a href={`${root}/payments/${each.payment_id}/`}>{each.order_id}</a>
        : each.order_id,
      each.transaction_status,
      rupiah(each.gross_amount),
      each.status,
      each.error_message ?? "",
      session.caller.isStaff && (
        <form method="post" action={`${root}${PATH}${each.id}/replay/`}>
          <FormToken view={view} />
          <button type="submit">{words.replay}</button>
        </form>
      ),
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.notifications}
        path={PATH}
        columns={[
          words.created,
          words.order,
          words.status,
          words.amount,
          words.result,
          words.error,
          "",
        ]}
        rows={rows}
        next={next && encodePosition(next)}
        status={{ chosen: status ?? "", all: NOTIFICATION_STATUSES }}
        message={c.req.query("done") ? words.replayed : null}
        isLive
      />,
    );
  });

  router.post(`${PATH}:id/replay/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    await replayNotification(deps, session.caller, parsePathId(c.req.param("id")));
    return c.redirect(`${root}${PATH}?done=replay`, 303);
  });
}
