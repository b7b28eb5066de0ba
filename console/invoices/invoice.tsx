/** `/console/invoices/{id}/`: one invoice. Staff can check it at the gateway, and void it. */

import type { FC } from "hono/jsx";
import type { Caller } from "../../core/auth/caller.ts";
import { getInvoiceStatus } from "../../core/invoices/check_at_gateway.ts";
import { readInvoice } from "../../core/invoices/read.ts";
import { VOIDABLE } from "../../core/invoices/states.ts";
import { type InvoiceView, shownOf } from "../../core/invoices/views.ts";
import { voidInvoice } from "../../core/invoices/void.ts";
import type { PaymentSummary } from "../../core/payments/views.ts";
import { readTimelineAndPayments, type TimelineAndPayments } from "../../core/reports/timelines.ts";
import { readPaymentPage } from "../../http/lists/payments.ts";
import { VoidInputSchema } from "../../core/invoices/invoice_input.ts";
import { scopeOf } from "../../http/idempotency.ts";
import { parsePathId } from "../../http/paths.ts";
import { validationError } from "../../http/router.ts";
import { LinkedPayments } from "../payments/linked_payments.tsx";
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
import { emailLink, phoneLink } from "../shared/customer_link.tsx";
import {
  BackLink,
  Card,
  Facts,
  LinkCard,
  linkTo,
  RecordActions,
  Time,
} from "../shared/elements.tsx";
import { explain, issuesOf } from "../shared/explain.ts";
import { dayName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView, View } from "../shared/session.ts";
import { Timeline, TIMELINE_LIMITS } from "../shared/timeline.tsx";
import type { Service } from "../../core/service.ts";
import { InvoiceItems, InvoiceStatusLabel } from "./display.tsx";

const PATH = "/invoices/";

/** The payments of an invoice that its page shows. */
const MAX_PAYMENTS = 20;

export function addInvoice(base: ConsoleBase): void {
  const { service, root, router, signedIn, actorForm, page } = base;

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const shown = await readAll(service, view.session.caller, id);
    return page(
      c,
      <InvoicePage view={view} {...shown} message={doneOf(view, c.req.query("done"))} />,
    );
  });

  router.post(`${PATH}:id/check-status/`, async (c) => {
    const { view } = await actorForm(c);
    c.env.isAuditExempt = true;
    const { caller } = view.session;
    const id = parsePathId(c.req.param("id"));
    try {
      const { gateway_response } = await getInvoiceStatus(service, caller, id);
      const done = gateway_response === null ? "notCheckedYet" : "checked";
      return c.redirect(`${root}${PATH}${id}/?done=${done}`, 303);
    } catch (thrown) {
      const error = explain(view, problemOf(c, thrown));
      const shown = await readAll(service, caller, id);
      return page(c, <InvoicePage view={view} {...shown} error={error} />, 400);
    }
  });

  addVoid(base);
}

function addVoid({ service, root, router, signedIn, actorForm, page }: ConsoleBase): void {
  router.get(`${PATH}:id/void/`, async (c) => {
    const view = await signedIn(c);
    requireActor(view.session);
    const invoice = await readInvoice(service, view.session.caller, parsePathId(c.req.param("id")));
    const isAllowed = VOIDABLE.includes(invoice.status);
    const error = isAllowed ? null : view.words.invoicesPage.noActions;
    const form = newForm(shownOf(invoice));
    return page(
      c,
      <VoidPage {...{ view, invoice, form, error }} reason="" />,
      isAllowed ? 200 : 400,
    );
  });

  router.post(`${PATH}:id/void/`, async (c) => {
    const { view, sent } = await actorForm(c);
    const { caller } = view.session;
    const id = parsePathId(c.req.param("id"));
    const form = readForm(sent);
    const reason = String(sent.reason ?? "").trim();
    try {
      const parsed = VoidInputSchema.safeParse({ reason });
      if (!parsed.success) throw validationError(issuesOf(parsed.error));
      const scope = scopeOf("/invoices/{pk}/void/", id);
      const current = shownOf(await readInvoice(service, caller, id));
      const isReplayed = await submitOnce(
        service,
        view,
        form,
        { scope, input: parsed.data, current },
        (request) => voidInvoice(service, { ...request, id }, parsed.data.reason),
      );
      return redirectAfter(c, `${root}${PATH}${id}/?done=voided`, isReplayed);
    } catch (thrown) {
      const problem = problemOf(c, thrown);
      const { reason: label, invoicesPage: { voidUnknown } } = view.words;
      const error = explainAction(view, problem, voidUnknown, { reason: label });
      const invoice = await readAfter(problem, error, readInvoice(service, caller, id));
      const next = formAfter(form, problem, shownOf(invoice));
      return page(c, <VoidPage {...{ view, invoice, error, reason }} form={next} />, 400);
    }
  });
}

const MESSAGES = ["created", "checked", "notCheckedYet", "voided"] as const;

function doneOf({ words }: View, done: string | undefined): string | null {
  const name = MESSAGES.find((each) => each === done);
  return name ? words.invoicesPage[name] : null;
}

interface Shown {
  invoice: InvoiceView;
  payments: PaymentSummary[];
  timeline: TimelineAndPayments;
}

async function readAll(service: Service, caller: Caller, id: string): Promise<Shown> {
  const invoice = await readInvoice(service, caller, id);
  const filter = { invoice_id: id, limit: MAX_PAYMENTS };
  const { payments } = await readPaymentPage(service, caller, filter);
  const timeline = await readTimelineAndPayments(service, caller, "invoice", id, TIMELINE_LIMITS);
  return { invoice, payments, timeline };
}

interface InvoiceProps extends Shown {
  view: SignedInView;
  /** What the last form did. */
  message?: string | null;
  error?: string;
}

const InvoicePage: FC<InvoiceProps> = (props) => {
  const { view, invoice, payments, timeline, message, error } = props;
  const { words: { invoicesPage: words } } = view;
  const path = `${PATH}${invoice.id}/`;
  return (
    <Frame view={view} title={invoice.invoice_number} path={path} live={invoice.id}>
      <BackLink view={view} to={PATH}>{words.title}</BackLink>
      {message && <p role="status" class="done">{message}</p>}
      {error && <p role="alert" class="error">{error}</p>}
      <h1>
        {rupiah(invoice.total_amount)} <InvoiceStatusLabel view={view} status={invoice.status} />
      </h1>
      <p class="subtitle">{invoice.invoice_number}</p>
      {invoice.status === "pending" && <p class="notice">{words.unconfirmed}</p>}
      {invoice.status === "failed" && <p class="notice">{words.failed}</p>}
      <div class="columns">
        <div>
          <Details view={view} invoice={invoice} />
          <InvoiceItems view={view} items={invoice.items} total={invoice.total_amount} />
          <LinkedPayments
            view={view}
            title={words.payments}
            payments={payments}
            none={words.noPayments}
          />
          <Timeline view={view} timeline={timeline} />
        </div>
        <div>
          <PaymentLink view={view} invoice={invoice} />
          <RecordActions
            view={view}
            path={path}
            actions={VOIDABLE.includes(invoice.status) ? [["void", words.void]] : []}
            none={words.noActions}
          />
          <Customer view={view} invoice={invoice} />
        </div>
      </div>
    </Frame>
  );
};

interface PartProps {
  view: View;
  invoice: InvoiceView;
}

const Details: FC<PartProps> = ({ view, invoice }) => {
  const { words: { invoicesPage: words, ...shared } } = view;
  return (
    <Card id="details" title={shared.details}>
      <Facts
        facts={{
          [words.total]: rupiah(invoice.total_amount),
          [words.due]: dayName(invoice.due_date, shared.locale),
          [words.paid]: invoice.paid_at && <Time view={view} at={invoice.paid_at} />,
          [words.voidReason]: invoice.void_reason,
          [words.notes]: invoice.notes && <span class="lines">{invoice.notes}</span>,
          [words.orderId]: <code>{invoice.order_id}</code>,
          [words.gatewayId]: invoice.gateway_invoice_id && <code>{invoice.gateway_invoice_id}
          </code>,
          ID: <code>{invoice.id}</code>,
          [words.pdf]: linkTo(invoice.pdf_url),
          [shared.created]: <Time view={view} at={invoice.created_at} />,
        }}
      />
    </Card>
  );
};

const Customer: FC<PartProps> = ({ view, invoice }) => {
  const { words: { invoicesPage: words, ...shared } } = view;
  return (
    <Card id="customer" title={shared.customer}>
      <Facts
        facts={{
          [shared.name]: invoice.customer_name,
          [shared.email]: emailLink(view, invoice.customer_email),
          [shared.phone]: phoneLink(view, invoice.customer_phone),
          [words.customerId]: invoice.customer_id,
        }}
      />
    </Card>
  );
};

const PaymentLink: FC<PartProps> = ({ view, invoice }) => {
  const { invoicesPage: words } = view.words;
  const { payment_link_url: url, status } = invoice;
  if (url === null) return null;
  const isOpen = status !== "paid" && status !== "void" && status !== "failed";
  return <LinkCard view={view} title={words.link} url={url} help={isOpen && words.linkHelp} />;
};

interface VoidProps {
  view: SignedInView;
  invoice: InvoiceView;
  form: ActionForm;
  reason: string;
  error: string | null;
}

const VoidPage: FC<VoidProps> = ({ view, invoice, form, reason, error }) => {
  const { words: { invoicesPage: words, ...shared } } = view;
  const amount = rupiah(invoice.total_amount);
  return (
    <ConfirmPage
      view={view}
      title={words.void}
      path={`${PATH}${invoice.id}/void/`}
      back={`${PATH}${invoice.id}/`}
      error={error}
      facts={{
        [words.number]: invoice.invoice_number,
        [shared.customer]: invoice.customer_name,
        [shared.amount]: amount,
        [words.due]: dayName(invoice.due_date, shared.locale),
        [shared.status]: <InvoiceStatusLabel view={view} status={invoice.status} />,
      }}
      effects={words.voidEffects(amount, invoice.customer_name)}
      form={form}
      isDangerous
    >
      <label for="reason">{shared.reason}</label>
      <input id="reason" name="reason" maxlength={255} value={reason} aria-describedby="why" />
      <p id="why" class="help">{words.voidReasonHelp}</p>
    </ConfirmPage>
  );
};
