/** `/console/payments/{id}/{action}/`: asks before an action on a payment, and takes it. */

import type { FC } from "hono/jsx";
import type { Caller } from "../core/auth/caller.ts";
import { invalidField, ServiceError } from "../core/errors.ts";
import {
  approvePayment,
  cancelPayment,
  capturePayment,
  denyPayment,
  expirePayment,
} from "../core/payments/actions.ts";
import type { PaymentDeps } from "../core/payments/payment_record.ts";
import { refundPayment } from "../core/payments/refund.ts";
import { PAYMENT_ACTIONS, type PaymentAction } from "../core/payments/states.ts";
import type { PaymentView } from "../core/payments/views.ts";
import { scopeOf } from "../routes/shared/action.ts";
import { fingerprintRequest } from "../routes/shared/idempotency.ts";
import { parsePathId } from "../routes/shared/paths.ts";
import { recordError } from "../routes/shared/problem.ts";
import { type ConsoleBase, requireActor } from "./base.tsx";
import { rupiah } from "./format.ts";
import { FormToken, Frame } from "./frame.tsx";
import { Facts, readFor } from "./payment.tsx";
import { Status } from "./payments.tsx";
import type { SignedInView } from "./session.ts";

export function addPaymentActions(base: ConsoleBase): void {
  const { deps, root, router, signedIn, formOf, page } = base;
  for (const action of PAYMENT_ACTIONS) {
    router.get(`/payments/:id/${action}/`, async (c) => {
      const view = await signedIn(c);
      requireActor(view.session);
      const payment = await readFor(deps, view, parsePathId(c.req.param("id")));
      const isAllowed = payment.allowed_actions.includes(action);
      const form = {
        idempotencyKey: crypto.randomUUID(),
        amount: amountLimit(payment, action),
        reason: "",
      };
      const error = isAllowed ? null : view.words.noActions;
      return page(
        c,
        <ConfirmPage {...{ view, payment, action, form, error }} />,
        isAllowed ? 200 : 400,
      );
    });

    router.post(`/payments/:id/${action}/`, async (c) => {
      const view = await signedIn(c);
      const sent = await formOf(c, view.session);
      requireActor(view.session);
      const id = parsePathId(c.req.param("id"));
      const form = {
        idempotencyKey: String(sent.key ?? ""),
        amount: sent.amount === undefined ? null : String(sent.amount),
        reason: String(sent.reason ?? "").trim(),
      };
      try {
        await act(deps, view.session.caller, id, action, form);
      } catch (thrown) {
        if (!(thrown instanceof ServiceError)) throw thrown;
        const { detail, members } = recordError(thrown, c.env);
        const payment = await readFor(deps, view, id);
        const error = members.outcome === "unknown" ? view.words.outcomeUnknown : detail ?? "";
        return page(c, <ConfirmPage {...{ view, payment, action, form, error }} />, 400);
      }
      return c.redirect(`${root}/payments/${id}/?done=${action}`, 303);
    });
  }
}

/** Does what the API does for the same action. */
async function act(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  action: PaymentAction,
  form: ActionForm,
): Promise<void> {
  const input = inputOf(action, form);
  const scope = scopeOf(`/payments/{pk}/${action}/`, id);
  const requestKey = { key: form.idempotencyKey, ...fingerprintRequest(scope, input) };
  switch (action) {
    case "cancel":
      return void await cancelPayment(deps, caller, id, requestKey);
    case "expire":
      return void await expirePayment(deps, caller, id, requestKey);
    case "approve":
      return void await approvePayment(deps, caller, id, requestKey);
    case "deny":
      return void await denyPayment(deps, caller, id, requestKey);
    case "capture":
      return void await capturePayment(deps, caller, id, input, requestKey);
    case "refund":
      return void await refundPayment(deps, caller, id, { ...input, direct: false }, requestKey);
  }
}

interface ActionInput {
  amount?: number;
  reason?: string;
}

function inputOf(action: PaymentAction, { amount, reason }: ActionForm): ActionInput {
  if (action === "refund") return { amount: parseAmount(amount), ...reason && { reason } };
  return action === "capture" ? { amount: parseAmount(amount) } : {};
}

/** The explicit amount that the form showed: never "the rest" of something that may have changed. */
function parseAmount(text: string | null): number {
  if (/^[1-9]\d{0,12}$/.test(text ?? "")) return Number(text);
  throw invalidField("amount", "must be a whole number of rupiah");
}

interface ActionForm {
  /** Chosen when the form is rendered: a form that is sent twice acts once. */
  idempotencyKey: string;
  /** In whole rupiah; null: the action has no amount. */
  amount: string | null;
  reason: string;
}

interface ConfirmProps {
  view: SignedInView;
  payment: PaymentView;
  action: PaymentAction;
  form: ActionForm;
  error: string | null;
}

/** Asks before an action, and says what it does. Shown again with the error if the action fails. */
const ConfirmPage: FC<ConfirmProps> = (props) => {
  const { view, payment, action, form: { idempotencyKey, amount, reason }, error } = props;
  const { root, words } = view;
  const path = `/payments/${payment.id}/${action}/`;
  return (
    <Frame view={view} title={words.actionNames[action]} path={path}>
      <section class="card narrow">
        <h1>{words.actionNames[action]}</h1>
        {error && <p role="alert" class="error">{error}</p>}
        <Facts
          facts={{
            [words.order]: payment.order_id,
            [words.amount]: rupiah(payment.gross_amount),
            [words.status]: <Status view={view} payment={payment} />,
          }}
        />
        <p>{words.actionEffects[action]}</p>
        <form method="post" action={root + path}>
          <FormToken view={view} />
          <input type="hidden" name="key" value={idempotencyKey} />
          {amount !== null && (
            <>
              <label for="amount">
                {action === "refund" ? words.amountToRefund : words.amountToCapture}
              </label>
              <input
                id="amount"
                name="amount"
                inputmode="numeric"
                pattern="[0-9]+"
                required
                value={amount}
                aria-describedby="limit"
              />
              <p id="limit" class="help">
                {words.atMost} {rupiah(`${amountLimit(payment, action)}`)}
              </p>
            </>
          )}
          {action === "refund" && (
            <>
              <label for="reason">{words.reason}</label>
              <input
                id="reason"
                name="reason"
                maxlength={255}
                value={reason}
                aria-describedby="why"
              />
              <p id="why" class="help">{words.reasonHelp}</p>
            </>
          )}
          <div class="actions">
            <button
              type="submit"
              class={action === "approve" || action === "capture" ? "primary" : "danger"}
            >
              {words.actionNames[action]}
            </button>
            <a class="button" href={`${root}/payments/${payment.id}/`}>{words.back}</a>
          </div>
        </form>
      </section>
    </Frame>
  );
};

/** What can be refunded or captured now, in whole rupiah; null: the action has no amount. */
function amountLimit(payment: PaymentView, action: PaymentAction): string | null {
  if (action === "capture") return wholeRupiah(payment.gross_amount);
  if (action !== "refund") return null;
  const open = payment.refunds.filter(({ status }) => status === "pending")
    .reduce((sum, { amount }) => sum + BigInt(wholeRupiah(amount)), 0n);
  return String(BigInt(wholeRupiah(payment.net_amount ?? "0")) - open);
}

/** Amounts in rupiah have no cents. */
function wholeRupiah(amount: string): string {
  return amount.split(".")[0]!;
}
