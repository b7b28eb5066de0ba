/** `/console/invoices/new/`: creates an invoice, in two steps: the form, and a page to check it. */

import type { FC } from "hono/jsx";
import { type FieldError, ServiceError } from "../../core/errors.ts";
import { dayInWib } from "../../core/gateway/times.ts";
import { createInvoice } from "../../core/invoices/create.ts";
import { type InvoiceInput, totalOf } from "../../core/invoices/invoice_input.ts";
import { formatMoney } from "../../core/money.ts";
import { fingerprintRequest } from "../../http/idempotency.ts";
import { createFixedResponse } from "../../openapi/fixed_response.ts";
import { recordError } from "../../http/problems/render.ts";
import { type ConsoleBase, requireActor } from "../shared/base.tsx";
import { breakEmail } from "../shared/customer_link.tsx";
import { actOnce, readKey, redirectAfter } from "../shared/confirm.tsx";
import { BackLink, Card, Facts, FormToken } from "../shared/elements.tsx";
import { explain } from "../shared/explain.ts";
import { FormError, FormField } from "../shared/fields.tsx";
import { AMOUNT_LENGTH } from "../shared/form_values.ts";
import { dayName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView } from "../shared/session.ts";
import { InvoiceItems } from "./display.tsx";
import {
  type InvoiceDraft,
  LINE_FIELDS,
  lineField,
  MAX_LINES,
  newDraft,
  parseDraft,
  readDraft,
  TEXT_FIELDS,
  totalSoFar,
  withLine,
} from "./draft.ts";

const LIST = "/invoices/";
const PATH = `${LIST}new/`;

/** The due date that a new form proposes. */
const DUE_DAYS = 14;

const DAY_MS = 86_400_000;

export function addInvoiceForm(base: ConsoleBase): void {
  const { service, root, router, signedIn, formOf, page } = base;
  addScript(base);
  const today = () => dayInWib(new Date(service.clock()));

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    requireActor(view.session);
    const draft = newDraft(dayInWib(new Date(service.clock() + DUE_DAYS * DAY_MS)));
    return page(
      c,
      <InvoiceForm
        {...{ view, draft }}
        formKey={crypto.randomUUID()}
        today={today()}
        errors={[]}
      />,
    );
  });

  // One address for all steps, so that no step is lost if the page is loaded again.
  router.post(PATH, async (c) => {
    const view = await signedIn(c);
    const sent = await formOf(c, view.session);
    requireActor(view.session);
    const words = view.words.invoicesPage;
    const key = readKey(sent);
    const draft = readDraft(sent);
    // Only the last step changes something.
    c.env.isAuditExempt = sent.step !== "create";

    const edit = (errors: FieldError[], { error = "", newKey = key } = {}) => {
      const form = { view, formKey: newKey, draft, errors, error, today: today() };
      return page(c, <InvoiceForm {...form} />, errors.length > 0 || error !== "" ? 400 : 200);
    };
    if (sent.step === "edit") return edit([]);
    if (sent.step === "more" || sent.step === "discount") {
      const more = withLine(draft, sent.step === "discount" ? words.discount : null);
      return page(
        c,
        <InvoiceForm view={view} formKey={key} draft={more} today={today()} errors={[]} />,
      );
    }
    const { input, errors } = parseDraft(draft);
    if (errors) return edit(errors, { error: words.fixErrors });
    const review = { view, formKey: key, draft, input };
    if (sent.step !== "create") return page(c, <ReviewPage {...review} />);
    if (sent.amount !== amountOf(input)) {
      return page(c, <ReviewPage {...review} error={words.amountChanged} />, 400);
    }
    try {
      const requestKey = { key, ...fingerprintRequest(`POST ${LIST}`, input) };
      const { body, isReplayed } = await actOnce(() =>
        createInvoice(service, view.session.caller, input, requestKey)
      );
      return redirectAfter(c, `${root}${LIST}${body.id}/?done=created`, isReplayed);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      const problem = recordError(thrown, c.env);
      const changes = changesAfter(view, problem);
      if (changes) return edit(changes.errors, changes);
      return page(c, <ReviewPage {...review} {...uncertaintyOf(view, problem)} />, 400);
    }
  });
}

function addScript({ router }: ConsoleBase): void {
  router.get(
    "/invoice_form.js/",
    createFixedResponse({
      contentType: "text/javascript; charset=utf-8",
      cacheControl: "no-cache",
      text: async () => (await import("./form.js", { with: { type: "text" } })).default,
    }),
  );
}

interface FormChanges {
  errors: FieldError[];
  error: string;
  newKey?: string;
}

/** What the form shows after a problem with its fields; null: the invoice may exist. */
function changesAfter(view: SignedInView, problem: ServiceError): FormChanges | null {
  const { code, message, members } = problem;
  const error = view.words.invoicesPage.fixErrors;
  if (code === "validation_error") return { errors: members.errors as FieldError[], error };
  if (members.outcome !== "refused") return null;
  // Nothing was created, and the key has this error as its reply: another try needs another key.
  const newKey = crypto.randomUUID();
  return code === "duplicate_order"
    ? { errors: [{ field: "order_id", message }], error, newKey }
    : { errors: [], error: explain(view, problem), newKey };
}

/** The invoice may exist, so the form keeps its key: sent again, it creates no second one. */
function uncertaintyOf(view: SignedInView, problem: ServiceError) {
  const { code, members } = problem;
  const { createUnknown, keyUsed } = view.words.invoicesPage;
  if (members.outcome === "unknown") {
    return { error: createUnknown, created: String(members.invoice_id) };
  }
  return { error: code === "idempotency_key_reused" ? keyUsed : explain(view, problem) };
}

/** In whole rupiah, as the form sends it. */
function amountOf({ items }: InvoiceInput): string {
  return String(totalOf(items));
}

interface FormProps {
  view: SignedInView;
  /** The Idempotency-Key of the invoice, chosen when the form is opened. */
  formKey: string;
  draft: InvoiceDraft;
  errors: FieldError[];
  /** What is wrong with the whole form. */
  error?: string;
  /** In Jakarta. */
  today: string;
}

const InvoiceForm: FC<FormProps> = (props) => {
  const { view, formKey, draft } = props;
  const { root, words: { invoicesPage: words, items } } = view;
  const itemsError = errorOf(props, "items");
  return (
    <Frame view={view} title={words.create} path={PATH}>
      <BackLink view={view} to={LIST}>{words.title}</BackLink>
      <h1>{words.create}</h1>
      <FormError {...props} fields={fieldsOf(draft)} />
      <form
        class="record"
        id="invoice"
        method="post"
        action={root + PATH}
        data-discount={words.discount}
        data-line={words.line(0)}
        data-discount-line={words.discountLine(0)}
        data-max-lines={MAX_LINES}
      >
        <FormToken view={view} />
        <input type="hidden" name="key" value={formKey} />
        <CustomerFields {...props} />
        <DetailFields {...props} />
        <Card id="items" title={items}>
          {itemsError && <p class="field-error">{itemsError}</p>}
          {draft.lines.map((_, index) => <LineFields {...props} index={index} />)}
          <p id="price-help" class="help">{words.priceHelp}</p>
          <p class="total">
            {words.total}{" "}
            <output id="total" class="amount">{rupiah(String(totalSoFar(draft)))}</output>
          </p>
          <div class="actions">
            <button type="submit" name="step" value="review" class="primary">{words.review}</button>
            <MoreLines {...props} />
          </div>
        </Card>
      </form>
      <script src={`${root}/invoice_form.js`} defer></script>
    </Frame>
  );
};

/** Each button adds one line. They follow "Continue", which the Enter key presses. */
const MoreLines: FC<FormProps> = ({ view, draft }) => {
  const words = view.words.invoicesPage;
  if (draft.lines.length >= MAX_LINES) {
    return <p class="help">{words.noMoreLines(MAX_LINES)}</p>;
  }
  return (
    <>
      <button type="submit" name="step" value="more" formnovalidate>{words.moreLines}</button>
      <button type="submit" name="step" value="discount" formnovalidate>
        {words.addDiscount}
      </button>
    </>
  );
};

/** The names of the fields that show their errors. */
function fieldsOf({ lines }: InvoiceDraft): string[] {
  return [
    ...TEXT_FIELDS,
    "items",
    ...lines.flatMap((_, index) => LINE_FIELDS.map((name) => lineField(index, name))),
  ];
}

const CustomerFields: FC<FormProps> = (props) => {
  const { invoicesPage: words, ...shared } = props.view.words;
  const optional = (label: string) => `${label} (${words.optional})`;
  return (
    <Card id="customer" title={words.customer}>
      <div class="grid">
        <FormField
          {...textField(props, "customer_name")}
          label={shared.name}
          isRequired
          maxLength={40}
        />
        <FormField
          {...textField(props, "customer_email")}
          label={optional(shared.email)}
          type="email"
          maxLength={255}
        />
        <FormField
          {...textField(props, "customer_phone")}
          label={optional(shared.phone)}
          inputMode="tel"
          maxLength={25}
          help={words.phoneHelp}
        />
      </div>
    </Card>
  );
};

const DetailFields: FC<FormProps> = (props) => {
  const { invoicesPage: words, details } = props.view.words;
  const optional = (label: string) => `${label} (${words.optional})`;
  return (
    <Card id="details" title={details}>
      <div class="grid">
        <FormField
          {...textField(props, "due_date")}
          label={words.due}
          type="date"
          isRequired
          min={props.today}
          help={words.dueHelp}
        />
        <FormField
          {...textField(props, "invoice_number")}
          label={optional(words.number)}
          maxLength={40}
          help={words.numberHelp}
        />
        <FormField
          {...textField(props, "order_id")}
          label={optional(words.orderId)}
          maxLength={36}
          help={words.orderHelp}
        />
      </div>
      <Notes {...props} />
    </Card>
  );
};

const Notes: FC<FormProps> = (props) => {
  const words = props.view.words.invoicesPage;
  const message = errorOf(props, "notes");
  return (
    <div class="field">
      <label for="notes">{`${words.notes} (${words.optional})`}</label>
      <textarea
        id="notes"
        name="notes"
        rows={3}
        maxlength={1000}
        aria-invalid={message ? "true" : undefined}
        aria-describedby={message ? "notes-error notes-help" : "notes-help"}
      >
        {props.draft.texts.notes}
      </textarea>
      {message && <p id="notes-error" class="field-error">{message}</p>}
      <p id="notes-help" class="help">{words.notesHelp}</p>
    </div>
  );
};

const LENGTHS = { description: 150, price: AMOUNT_LENGTH, quantity: 15 };

const LineFields: FC<FormProps & { index: number }> = ({ index, ...props }) => {
  const { item, price, quantity, invoicesPage } = props.view.words;
  const { line, discountLine } = invoicesPage;
  const { isDiscount } = props.draft.lines[index]!;
  const labels = { description: item, price, quantity };
  return (
    <fieldset class="line">
      <legend>{isDiscount ? discountLine(index + 1) : line(index + 1)}</legend>
      {LINE_FIELDS.map((name) => (
        <FormField
          name={lineField(index, name)}
          label={labels[name]}
          value={props.draft.lines[index]![name]}
          error={errorOf(props, lineField(index, name))}
          // Some phones have no minus on their numeric keyboard.
          inputMode={name === "quantity" ? "numeric" : undefined}
          maxLength={LENGTHS[name]}
        />
      ))}
      <DiscountMark index={index} isDiscount={isDiscount} />
    </fieldset>
  );
};

/** Tells the next step that the line was added as a discount. */
const DiscountMark: FC<{ index: number; isDiscount: boolean }> = ({ index, isDiscount }) => {
  const name = lineField(index, "discount");
  return <input type="hidden" id={name} name={name} value={isDiscount ? "yes" : ""} />;
};

/** The name, value and error of a field. */
function textField(props: FormProps, name: keyof InvoiceDraft["texts"]) {
  return { name, value: props.draft.texts[name], error: errorOf(props, name) };
}

function errorOf({ view, errors }: FormProps, name: string): string | undefined {
  const found = errors.find(({ field }) => field === name);
  return found && view.words.message(found.message);
}

interface ReviewProps {
  view: SignedInView;
  /** The Idempotency-Key of the invoice, chosen when the form is opened. */
  formKey: string;
  draft: InvoiceDraft;
  input: InvoiceInput;
  error?: string;
  /** The id of an invoice that may have been created. */
  created?: string;
}

/** Shows the whole invoice and its total before it is created. */
const ReviewPage: FC<ReviewProps> = ({ view, formKey, draft, input, error, created }) => {
  const { root, words: { invoicesPage: words, ...shared } } = view;
  const total = formatMoney(Number(totalOf(input.items)));
  const items = input.items.map(({ description, price, quantity }) => ({
    description,
    quantity,
    price: formatMoney(price),
    subtotal: formatMoney(Number(BigInt(price) * BigInt(quantity))),
  }));
  return (
    <Frame view={view} title={words.reviewTitle} path={PATH}>
      <h1>{words.reviewTitle}</h1>
      {error && (
        <p role="alert" class="error">
          {error} {created && <a href={`${root}${LIST}${created}/`}>{words.openInvoice}</a>}
        </p>
      )}
      <Card id="details" title={shared.details}>
        <Facts
          facts={{
            [shared.name]: input.customer_name,
            [shared.email]: breakEmail(input.customer_email ?? null),
            [shared.phone]: input.customer_phone ?? null,
            [words.due]: dayName(input.due_date, shared.locale),
            [words.number]: input.invoice_number ?? null,
            [words.orderId]: input.order_id ?? null,
            [words.notes]: input.notes ? <span class="lines">{input.notes}</span> : null,
          }}
        />
      </Card>
      <InvoiceItems view={view} items={items} total={total} />
      <section class="card">
        <ul class="effects">
          {words.createEffects(rupiah(total)).map((effect) => <li>{effect}</li>)}
        </ul>
        <form method="post" action={root + PATH}>
          <FormToken view={view} />
          <input type="hidden" name="key" value={formKey} />
          <input type="hidden" name="amount" value={amountOf(input)} />
          {TEXT_FIELDS.map((name) => <input type="hidden" name={name} value={draft.texts[name]} />)}
          {draft.lines.map((line, index) => (
            <>
              {LINE_FIELDS.map((name) => (
                <input type="hidden" name={lineField(index, name)} value={line[name]} />
              ))}
              <DiscountMark index={index} isDiscount={line.isDiscount} />
            </>
          ))}
          <div class="actions">
            <button type="submit" name="step" value="create" class="primary">{words.create}</button>
            <button type="submit" name="step" value="edit">{words.change}</button>
          </div>
        </form>
      </section>
    </Frame>
  );
};
