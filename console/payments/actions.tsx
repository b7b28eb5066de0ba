/** `/console/payments/{id}/{action}/`: asks to confirm an action on a payment, and performs it. */

import type { FC } from "hono/jsx";
import { invalidField } from "../../core/errors.ts";
import type { RequestResult } from "../../core/idempotency/keys.ts";
import {
  approvePayment,
  cancelPayment,
  capturePayment,
  denyPayment,
  expirePayment,
} from "../../core/payments/actions.ts";
import { isAmount, parseRupiah } from "../../core/money.ts";
import { refundPayment } from "../../core/payments/refund.ts";
import { PAYMENT_ACTIONS, type PaymentAction } from "../../core/payments/states.ts";
import { type PaymentView, shownOf } from "../../core/payments/views.ts";
import type { ActionRequest } from "../../core/records/act.ts";
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
import type { FieldLabels } from "../shared/explain.ts";
import { AMOUNT_LENGTH } from "../shared/form_values.ts";
import { jakartaTime, methodName, rupiah, wholeRupiah } from "../shared/format.ts";
import type { SignedInView, View } from "../shared/session.ts";
import type { Service } from "../../core/service.ts";
import { readPaymentFor, refundRefusal, unknownOutcomes } from "./payment.tsx";
import { PaymentStatusLabel } from "./table.tsx";

export function addPaymentActions(base: ConsoleBase): void {
  const { service, root, router, signedIn, actorForm, page } = base;
  for (const action of PAYMENT_ACTIONS) {
    router.get(`/payments/:id/${action}/`, async (c) => {
      const view = await signedIn(c);
      requireActor(view.session);
      const payment = await readPaymentFor(service, view, parsePathId(c.req.param("id")));
      const isAllowed = payment.allowed_actions.includes(action);
      const form = {
        ...newForm(shownOf(payment)),
        amount: amountLimit(payment, action),
        reason: "",
      };
      const refusal = action === "refund" ? refundRefusal(view, payment) : null;
      const error = isAllowed ? null : refusal ?? view.words.noActions;
      const hasForm = refusal === null;
      const html = <ActionPage {...{ view, payment, action, form, error, hasForm }} />;
      return page(c, html, isAllowed ? 200 : 400);
    });

    router.post(`/payments/:id/${action}/`, async (c) => {
      const { view, sent } = await actorForm(c);
      const id = parsePathId(c.req.param("id"));
      const form = {
        ...readForm(sent),
        amount: sent.amount === undefined ? null : String(sent.amount),
        reason: String(sent.reason ?? "").trim(),
      };
      try {
        const input = inputOf(action, form);
        const scope = scopeOf(`/payments/{pk}/${action}/`, id);
        const current = shownOf(await readPaymentFor(service, view, id));
        const isReplayed = await submitOnce(
          service,
          view,
          form,
          { scope, input, current },
          (request) => act(service, { ...request, id }, action, input),
        );
        return redirectAfter(c, `${root}/payments/${id}/?done=${action}`, isReplayed);
      } catch (thrown) {
        const problem = problemOf(c, thrown);
        const labels = labelsOf(view, action);
        const error = explainAction(view, problem, view.words.outcomeUnknown, labels);
        const payment = await readAfter(problem, error, readPaymentFor(service, view, id));
        const next = formAfter(form, problem, shownOf(payment));
        return page(c, <ActionPage {...{ view, payment, action, error }} form={next} />, 400);
      }
    });
  }
}

function labelsOf({ words }: View, action: PaymentAction): FieldLabels {
  const amount = action === "refund" ? words.amountToRefund : words.amountToCapture;
  return { amount, reason: words.reason };
}

/** Does what the API does for the same action. */
async function act(
  service: Service,
  request: ActionRequest,
  action: PaymentAction,
  input: ActionInput,
): Promise<RequestResult<unknown>> {
  switch (action) {
    case "cancel":
      return await cancelPayment(service, request);
    case "expire":
      return await expirePayment(service, request);
    case "approve":
      return await approvePayment(service, request);
    case "deny":
      return await denyPayment(service, request);
    case "capture":
      return await capturePayment(service, request, input);
    case "refund":
      return await refundPayment(service, request, { ...input, direct: false });
  }
}

interface ActionInput {
  amount?: number;
  reason?: string;
}

function inputOf(action: PaymentAction, { amount, reason }: PaymentForm): ActionInput {
  if (action === "refund") return { amount: parseAmount(amount), ...reason && { reason } };
  return action === "capture" ? { amount: parseAmount(amount) } : {};
}

/** The form always sends an amount: "the rest" may have changed since the page was shown. */
function parseAmount(text: string | null): number {
  const amount = parseRupiah(text ?? "");
  if (amount !== null && isAmount(amount)) return amount;
  throw invalidField("amount", "must be a whole number above 0");
}

interface PaymentForm extends ActionForm {
  /** As the user has entered it; null: the action has no amount. */
  amount: string | null;
  reason: string;
}

interface ActionProps {
  view: SignedInView;
  payment: PaymentView;
  action: PaymentAction;
  form: PaymentForm;
  error: string | null;
  /** False: the payment will never allow the action. */
  hasForm?: boolean;
}

const ActionPage: FC<ActionProps> = (props) => {
  const { view, payment, action, form, error, hasForm = true } = props;
  const { words } = view;
  const { amount, reason } = form;
  const limit = amountLimit(payment, action);
  return (
    <ConfirmPage
      view={view}
      title={words.actionNames[action]}
      path={`/payments/${payment.id}/${action}/`}
      back={`/payments/${payment.id}/`}
      error={error}
      facts={{
        [words.order]: payment.order_id,
        [words.amount]: rupiah(payment.gross_amount),
        [words.refunded]: Number(payment.refund_amount) > 0 ? rupiah(payment.refund_amount) : null,
        [words.status]: <PaymentStatusLabel view={view} payment={payment} />,
      }}
      notices={unknownOutcomes(view, payment)}
      effects={effectsOf(view, payment, action)}
      form={hasForm ? form : null}
      isDangerous={action !== "approve" && action !== "capture"}
    >
      {limit !== null && (
        <>
          <label for="amount">{labelsOf(view, action).amount}</label>
          <input
            id="amount"
            name="amount"
            inputmode="numeric"
            maxlength={AMOUNT_LENGTH}
            required
            value={amount ?? ""}
            aria-describedby="limit"
          />
          <p id="limit" class="help">{words.atMost} {rupiah(limit)}</p>
        </>
      )}
      {action === "refund" && (
        <>
          <label for="reason">{words.reason}</label>
          <input id="reason" name="reason" maxlength={255} value={reason} aria-describedby="why" />
          <p id="why" class="help">{words.reasonHelp}</p>
        </>
      )}
    </ConfirmPage>
  );
};

/** What the action does to this payment, in its state. */
function effectsOf({ words }: View, payment: PaymentView, action: PaymentAction): string[] {
  const { effects } = words.paymentPage;
  const { transaction_status: status, expiry_time } = payment;
  const amount = rupiah(payment.gross_amount);
  const limit = rupiah(amountLimit(payment, action) ?? "0");
  switch (action) {
    case "cancel":
      if (status === "authorize") return effects.cancelAuthorized(amount);
      return status === "capture" ? effects.cancelCaptured(amount) : effects.cancelPending(amount);
    case "expire":
      return effects.expire(amount, expiry_time && jakartaTime(expiry_time, words.locale));
    case "refund":
      return effects.refund(limit, methodName(words, payment.payment_type, payment.bank));
    case "capture":
      return effects.capture(limit);
    case "approve":
      return effects.approve(amount);
    case "deny":
      return effects.deny(amount);
  }
}

/** What can be refunded or captured now, in whole rupiah; null: the action has no amount. */
function amountLimit(payment: PaymentView, action: PaymentAction): string | null {
  if (action === "capture") return String(wholeRupiah(payment.gross_amount));
  if (action !== "refund") return null;
  const open = payment.refunds.filter(({ status }) => status === "pending")
    .reduce((sum, { amount }) => sum + wholeRupiah(amount), 0n);
  return String(wholeRupiah(payment.net_amount ?? "0") - open);
}
