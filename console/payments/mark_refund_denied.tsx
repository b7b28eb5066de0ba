/** `/console/payments/{id}/refunds/{refund}/mark-denied/`: ends a refund that the bank refused. */

import type { FC } from "hono/jsx";
import { ServiceError } from "../../core/errors.ts";
import { markRefundDenied } from "../../core/payments/mark_refund_denied.ts";
import { isPendingAtBank } from "../../core/payments/merge_refunds.ts";
import { type PaymentView, type RefundView, shownOf } from "../../core/payments/views.ts";
import { scopeOf } from "../../http/idempotency.ts";
import { parsePathId } from "../../http/paths.ts";
import { type ConsoleBase, requireActor } from "../shared/base.tsx";
import {
  type ActionForm,
  ConfirmPage,
  explainAction,
  formAfter,
  newForm,
  problemOf,
  readAfter,
  readForm,
  redirectAfter,
  submitOnce,
} from "../shared/confirm.tsx";
import { rupiah } from "../shared/format.ts";
import type { SignedInView } from "../shared/session.ts";
import { readPaymentFor } from "./payment.tsx";

const PATH = "/payments/:id/refunds/:refund/mark-denied/";

export function addMarkRefundDenied(base: ConsoleBase): void {
  const { service, root, router, signedIn, actorForm, page } = base;
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    requireActor(view.session);
    const payment = await readPaymentFor(service, view, parsePathId(c.req.param("id")));
    const refund = refundOf(payment, c.req.param("refund"));
    const isAllowed = isPendingAtBank(refund);
    const error = isAllowed ? null : view.words.noActions;
    const form = newForm(shownOf(payment));
    const html = <MarkPage {...{ view, payment, refund, form, error }} />;
    return page(c, html, isAllowed ? 200 : 400);
  });

  router.post(PATH, async (c) => {
    const { view, sent } = await actorForm(c);
    const id = parsePathId(c.req.param("id"));
    const form = readForm(sent);
    const before = await readPaymentFor(service, view, id);
    const refund = refundOf(before, c.req.param("refund"));
    try {
      const scope = scopeOf("/refunds/{pk}/mark-denied/", refund.id);
      const isReplayed = await submitOnce(
        service,
        view,
        form,
        { scope, input: {}, current: shownOf(before) },
        (request) => markRefundDenied(service, { ...request, id: refund.id }),
      );
      return redirectAfter(c, `${root}/payments/${id}/?done=mark-denied`, isReplayed);
    } catch (thrown) {
      const problem = problemOf(c, thrown);
      const error = explainAction(view, problem, view.words.outcomeUnknown);
      const payment = await readAfter(problem, error, readPaymentFor(service, view, id));
      const next = formAfter(form, problem, shownOf(payment));
      return page(c, <MarkPage {...{ view, payment, refund, error }} form={next} />, 400);
    }
  });
}

function refundOf({ refunds }: PaymentView, id: string): RefundView {
  const refund = refunds.find((each) => each.id === parsePathId(id));
  if (!refund) throw new ServiceError("not_found");
  return refund;
}

interface MarkProps {
  view: SignedInView;
  payment: PaymentView;
  refund: RefundView;
  form: ActionForm;
  error: string | null;
}

const MarkPage: FC<MarkProps> = ({ view, payment, refund, form, error }) => {
  const { words } = view;
  return (
    <ConfirmPage
      view={view}
      title={words.paymentPage.markDenied}
      path={`/payments/${payment.id}/refunds/${refund.id}/mark-denied/`}
      back={`/payments/${payment.id}/`}
      error={error}
      facts={{
        [words.order]: payment.order_id,
        [words.amount]: rupiah(refund.amount),
        [words.reason]: refund.reason,
        [words.status]: words.refundStatuses[refund.status],
      }}
      effects={words.paymentPage.effects.markDenied(rupiah(refund.amount))}
      form={form}
      isDangerous
    />
  );
};
