/** `/console/checkouts/new/`: creates a checkout: the form, then a page to check it. */

import type { FC } from "hono/jsx";
import { createCheckout } from "../../core/checkouts/create.ts";
import { METHOD_IDS } from "../../core/checkouts/methods.ts";
import type { CheckoutInput } from "../../core/checkouts/schema.ts";
import { type FieldError, ServiceError } from "../../core/errors.ts";
import { formatMoney } from "../../core/money.ts";
import { fingerprintRequest } from "../../http/idempotency.ts";
import { recordError } from "../../http/problems/render.ts";
import { type ConsoleBase, requireActor } from "../shared/base.tsx";
import { breakEmail } from "../shared/customer_link.tsx";
import { actOnce, readKey, redirectAfter } from "../shared/confirm.tsx";
import { BackLink, Card, Facts, FormToken, Time } from "../shared/elements.tsx";
import { explain } from "../shared/explain.ts";
import { Choice, FormError, FormField } from "../shared/fields.tsx";
import { AMOUNT_LENGTH } from "../shared/form_values.ts";
import { rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView } from "../shared/session.ts";
import { checkoutMethodName, offeredNames } from "./display.tsx";
import {
  type CheckoutDraft,
  methodField,
  parseDraft,
  readDraft,
  TEXT_FIELDS,
  type TextField,
} from "./draft.ts";

const LIST = "/checkouts/";
const PATH = `${LIST}new/`;

export function addCheckoutForm(base: ConsoleBase): void {
  const { service, root, router, signedIn, formOf, page } = base;

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    requireActor(view.session);
    const formKey = crypto.randomUUID();
    return page(c, <CheckoutForm {...{ view, formKey, draft: readDraft({}), errors: [] }} />);
  });

  // One address for all steps, so that no step is lost if the page is loaded again.
  router.post(PATH, async (c) => {
    const view = await signedIn(c);
    const sent = await formOf(c, view.session);
    requireActor(view.session);
    const words = view.words.checkoutsPage;
    const key = readKey(sent);
    const draft = readDraft(sent);
    // Only the last step changes something.
    c.env.isAuditExempt = sent.step !== "create";

    const edit = (errors: FieldError[], { error = "", newKey = key } = {}) => {
      const form = { view, formKey: newKey, draft, errors, error };
      return page(c, <CheckoutForm {...form} />, errors.length > 0 || error !== "" ? 400 : 200);
    };
    if (sent.step === "edit") return edit([]);
    const { input, errors } = parseDraft(draft);
    if (errors) return edit(errors, { error: words.fixErrors });
    const review = { view, formKey: key, draft, input };
    if (sent.step !== "create") return page(c, <ReviewPage {...review} />);
    if (sent.amount !== String(input.gross_amount)) {
      return page(c, <ReviewPage {...review} error={words.amountChanged} />, 400);
    }
    try {
      const requestKey = { key, ...fingerprintRequest(`POST ${LIST}`, input) };
      const { body, isReplayed } = await actOnce(() =>
        createCheckout(service, view.session.caller, input, requestKey)
      );
      return redirectAfter(c, `${root}${LIST}${body.id}/?done=created`, isReplayed);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      const problem = recordError(thrown, c.env);
      const changes = changesAfter(view, problem);
      if (changes) return edit(changes.errors, changes);
      return page(c, <ReviewPage {...review} error={explainCreation(view, problem)} />, 400);
    }
  });
}

/** What the form shows after a problem with its fields; null: another try can succeed. */
function changesAfter({ words }: SignedInView, { code, message, members }: ServiceError) {
  const error = words.checkoutsPage.fixErrors;
  if (code === "validation_error") return { errors: members.errors as FieldError[], error };
  if (code !== "duplicate_order") return null;
  const errors = [{ field: "order_id", message }];
  return { errors, error, newKey: crypto.randomUUID() };
}

/** The form keeps its key: sent again, it creates no second checkout. */
function explainCreation(view: SignedInView, problem: ServiceError): string {
  const { keyUsed, needsPublicUrl } = view.words.checkoutsPage;
  if (problem.members.setting === "PUBLIC_URL") return needsPublicUrl;
  return problem.code === "idempotency_key_reused" ? keyUsed : explain(view, problem);
}

interface FormProps {
  view: SignedInView;
  /** The Idempotency-Key of the checkout, chosen when the form is opened. */
  formKey: string;
  draft: CheckoutDraft;
  errors: FieldError[];
  /** What is wrong with the whole form. */
  error?: string;
}

const CheckoutForm: FC<FormProps> = (props) => {
  const { view, formKey } = props;
  const { root, words: { checkoutsPage: words } } = view;
  return (
    <Frame view={view} title={words.create} path={PATH}>
      <BackLink view={view} to={LIST}>{words.title}</BackLink>
      <h1>{words.create}</h1>
      <FormError {...props} fields={TEXT_FIELDS} />
      <form class="record" method="post" action={root + PATH}>
        <FormToken view={view} />
        <input type="hidden" name="key" value={formKey} />
        <OrderFields {...props} />
        <CustomerFields {...props} />
        <PageFields {...props} />
        <div class="actions">
          <button type="submit" name="step" value="review" class="primary">{words.review}</button>
        </div>
      </form>
    </Frame>
  );
};

const OrderFields: FC<FormProps> = (props) => {
  const { checkoutsPage: words, expires } = props.view.words;
  return (
    <Card id="order" title={words.order}>
      <div class="grid">
        <FormField
          {...textField(props, "gross_amount")}
          label={words.amount}
          isRequired
          inputMode="numeric"
          maxLength={AMOUNT_LENGTH}
          help={words.amountHelp}
        />
        <FormField
          {...textField(props, "order_id")}
          label={`${words.orderId} (${words.optional})`}
          maxLength={46}
          help={words.orderHelp}
        />
        <FormField
          {...textField(props, "expires_at")}
          label={`${expires} (${words.optional})`}
          type="datetime-local"
          help={words.expiresHelp}
        />
      </div>
    </Card>
  );
};

const CustomerFields: FC<FormProps> = (props) => {
  const { checkoutsPage: words, ...shared } = props.view.words;
  const optional = (label: string) => `${label} (${words.optional})`;
  return (
    <Card id="customer" title={shared.customer}>
      <div class="grid">
        <FormField
          {...textField(props, "customer_details.first_name")}
          label={optional(words.firstName)}
          maxLength={255}
        />
        <FormField
          {...textField(props, "customer_details.last_name")}
          label={optional(words.lastName)}
          maxLength={255}
        />
        <FormField
          {...textField(props, "customer_details.email")}
          label={optional(shared.email)}
          type="email"
          maxLength={255}
        />
        <FormField
          {...textField(props, "customer_details.phone")}
          label={optional(shared.phone)}
          inputMode="tel"
          maxLength={255}
        />
      </div>
      <p class="help">{words.customerHelp}</p>
    </Card>
  );
};

const PageFields: FC<FormProps> = (props) => {
  const { view, draft } = props;
  const { checkoutsPage: words } = view.words;
  const address = { type: "url", maxLength: 2000, help: words.urlHelp };
  return (
    <Card id="page" title={words.page}>
      <fieldset class="boxes" aria-describedby="methods-help">
        <legend>{words.offered}</legend>
        {METHOD_IDS.map((id) => (
          <label>
            <input
              type="checkbox"
              name={methodField(id)}
              checked={draft.methods.includes(id)}
            />
            {checkoutMethodName(view.words, id)}
          </label>
        ))}
      </fieldset>
      <p id="methods-help" class="help">{words.methodsHelp}</p>
      <div class="grid">
        <Choice
          name="language"
          label={words.language}
          value={draft.texts.language}
          options={words.languages}
          any={words.browserLanguage}
        />
        <FormField
          {...textField(props, "finish_url")}
          {...address}
          label={`${words.finishUrl} (${words.optional})`}
        />
        <FormField
          {...textField(props, "cancel_url")}
          {...address}
          label={`${words.cancelUrl} (${words.optional})`}
        />
      </div>
    </Card>
  );
};

/** The name, value and error of a field. */
function textField({ view, draft, errors }: FormProps, name: TextField) {
  const found = errors.find(({ field }) => field === name);
  return {
    name,
    value: draft.texts[name],
    error: found && view.words.message(found.message),
  };
}

interface ReviewProps {
  view: SignedInView;
  /** The Idempotency-Key of the checkout, chosen when the form is opened. */
  formKey: string;
  draft: CheckoutDraft;
  input: CheckoutInput;
  error?: string;
}

/** Shows the whole checkout before it is created. */
const ReviewPage: FC<ReviewProps> = ({ view, formKey, draft, input, error }) => {
  const { root, words: { checkoutsPage: words, ...shared } } = view;
  const { texts, methods } = draft;
  const amount = rupiah(formatMoney(input.gross_amount));
  const expires = input.expires_at?.toISOString() ?? null;
  return (
    <Frame view={view} title={words.reviewTitle} path={PATH}>
      <section class="card narrow">
        <h1>{words.reviewTitle}</h1>
        {error && <p role="alert" class="error">{error}</p>}
        <Facts
          facts={{
            [words.amount]: amount,
            [words.orderId]: input.order_id ?? null,
            [shared.expires]: expires && <Time view={view} at={expires} />,
            [words.firstName]: texts["customer_details.first_name"],
            [words.lastName]: texts["customer_details.last_name"],
            [shared.email]: breakEmail(texts["customer_details.email"]),
            [shared.phone]: texts["customer_details.phone"],
            [words.offered]: offeredNames(view, input.enabled_payments ?? null),
            [words.language]: input.language ? words.languages[input.language] : null,
            [words.finishUrl]: input.finish_url ?? null,
            [words.cancelUrl]: input.cancel_url ?? null,
          }}
        />
        <ul class="effects">
          {words.createEffects(amount).map((effect) => <li>{effect}</li>)}
        </ul>
        <form method="post" action={root + PATH}>
          <FormToken view={view} />
          <input type="hidden" name="key" value={formKey} />
          <input type="hidden" name="amount" value={String(input.gross_amount)} />
          {TEXT_FIELDS.map((name) => <input type="hidden" name={name} value={texts[name]} />)}
          {methods.map((id) => <input type="hidden" name={methodField(id)} value="on" />)}
          <div class="actions">
            <button type="submit" name="step" value="create" class="primary">{words.create}</button>
            <button type="submit" name="step" value="edit">{words.change}</button>
          </div>
        </form>
      </section>
    </Frame>
  );
};
