/**
 * Creates, edits and deletes webhook endpoints: `/console/webhooks/new/`, `…/{id}/edit/`,
 * `…/{id}/delete/`.
 */

import type { FC } from "hono/jsx";
import { ServiceError } from "../../core/errors.ts";
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  newFormId,
  readWebhookEndpoint,
  updateWebhookEndpoint,
} from "../../core/webhooks/endpoints.ts";
import type { EndpointView } from "../../core/webhooks/views.ts";
import { EVENT_NAMES } from "../../core/events/names.ts";
import { parsePathId } from "../../http/paths.ts";
import { recordError } from "../../http/problems/render.ts";
import { validationError } from "../../http/router.ts";
import {
  WebhookEndpointChangesSchema,
  WebhookEndpointInputSchema,
} from "../../core/webhooks/endpoint_input.ts";
import { type ConsoleBase, type Form, requireActor } from "../shared/base.tsx";
import { FormToken, Secret } from "../shared/elements.tsx";
import { explain, type FieldLabels, issuesOf } from "../shared/explain.ts";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView } from "../shared/session.ts";
import { ConfirmEndpointPage, parseShownAt } from "./webhooks.tsx";

const PATH = "/webhooks/";

export function addWebhookForms(base: ConsoleBase): void {
  addCreation(base);
  addEditing(base);
  addDeletion(base);
}

function addCreation({ service, root, router, signedIn, formOf, page }: ConsoleBase): void {
  router.get(`${PATH}new/`, async (c) => {
    const view = await signedIn(c);
    requireActor(view.session);
    const form = { ...EMPTY, id: newFormId(service) };
    return page(c, <EndpointForm view={view} endpoint={null} form={form} error={null} />);
  });

  router.post(`${PATH}new/`, async (c) => {
    const view = await signedIn(c);
    const form = formValues(await formOf(c, view.session));
    requireActor(view.session);
    try {
      const input = parseInput(form);
      const { body: created } = await createWebhookEndpoint(service, view.session.caller, input, {
        formId: form.id,
      });
      c.env.resourceId = created.id;
      return page(
        c,
        <Frame view={view} title={view.words.webhooksPage.add} path={`${PATH}${created.id}/`}>
          <Secret
            view={view}
            label={view.words.newSecret}
            value={created.secret}
            back={`${root}${PATH}${created.id}/`}
          />
        </Frame>,
      );
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || thrown.status !== 400) throw thrown;
      if (thrown.code === "invalid_state") {
        return c.redirect(`${root}${PATH}${form.id}/?done=existed`, 303);
      }
      const error = explain(view, recordError(thrown, c.env), labelsOf(view));
      return page(c, <EndpointForm view={view} endpoint={null} form={form} error={error} />, 400);
    }
  });
}

function addEditing({ service, root, router, signedIn, formOf, page }: ConsoleBase): void {
  router.get(`${PATH}:id/edit/`, async (c) => {
    const view = await signedIn(c);
    requireActor(view.session);
    const id = parsePathId(c.req.param("id"));
    const endpoint = await readWebhookEndpoint(service, view.session.caller, id);
    const form = valuesOf(endpoint);
    return page(c, <EndpointForm view={view} endpoint={endpoint} form={form} error={null} />);
  });

  router.post(`${PATH}:id/edit/`, async (c) => {
    const view = await signedIn(c);
    const form = formValues(await formOf(c, view.session));
    requireActor(view.session);
    const id = parsePathId(c.req.param("id"));
    const endpoint = await readWebhookEndpoint(service, view.session.caller, id);
    try {
      const shownAt = parseShownAt(form.shownAt);
      await updateWebhookEndpoint(service, view.session.caller, id, parseChanges(form), shownAt);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || thrown.status !== 400) throw thrown;
      const error = explain(view, recordError(thrown, c.env), labelsOf(view));
      return page(c, <EndpointForm {...{ view, endpoint, form, error }} />, 400);
    }
    return c.redirect(`${root}${PATH}${id}/?done=saved`, 303);
  });
}

function addDeletion({ service, root, router, signedIn, formOf, page }: ConsoleBase): void {
  router.get(`${PATH}:id/delete/`, async (c) => {
    const view = await signedIn(c);
    requireActor(view.session);
    const { remove, removeEffect } = view.words.webhooksPage;
    const id = parsePathId(c.req.param("id"));
    const endpoint = await readWebhookEndpoint(service, view.session.caller, id);
    const props = { view, endpoint, name: remove, effect: removeEffect };
    return page(c, <ConfirmEndpointPage {...props} action="delete" />);
  });

  router.post(`${PATH}:id/delete/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    await deleteWebhookEndpoint(service, session.caller, parsePathId(c.req.param("id")));
    return c.redirect(`${root}${PATH}?done=removed`, 303);
  });
}

function labelsOf({ words: { webhooksPage } }: SignedInView): FieldLabels {
  const { url, description, events } = webhooksPage;
  return { url, description, event_names: events };
}

interface EndpointFormValues {
  /** The id of the endpoint to create, so that a form that is sent twice creates only one. */
  id: string;
  /** The `updated_at` of the endpoint to edit, so that an old form does not undo later changes. */
  shownAt: string;
  url: string;
  description: string;
  /** None: every event. */
  events: string[];
}

const EMPTY: EndpointFormValues = { id: "", shownAt: "", url: "", description: "", events: [] };

function valuesOf(endpoint: EndpointView): EndpointFormValues {
  return {
    id: endpoint.id,
    shownAt: endpoint.updated_at,
    url: endpoint.url,
    description: endpoint.description ?? "",
    events: endpoint.event_names ?? [],
  };
}

/** Each event has a field of its own, because a form here has one value for each name. */
const fieldOf = (event: string) => `event_${event}`;

function formValues(form: Form): EndpointFormValues {
  const text = (name: string) => String(form[name] ?? "").trim();
  return {
    id: text("id").toLowerCase(),
    shownAt: text("shown_at"),
    url: text("url"),
    description: text("description"),
    events: EVENT_NAMES.filter((name) => form[fieldOf(name)] !== undefined),
  };
}

function parseInput({ id, url, description, events }: EndpointFormValues) {
  parsePathId(id);
  const parsed = WebhookEndpointInputSchema.safeParse({
    url,
    ...description && { description },
    ...events.length > 0 && { event_names: events },
  });
  if (!parsed.success) throw validationError(issuesOf(parsed.error));
  const { event_names = null, description: text = null } = parsed.data;
  return { url: parsed.data.url, event_names, description: text, enabled: true };
}

function parseChanges({ url, description, events }: EndpointFormValues) {
  const parsed = WebhookEndpointChangesSchema.safeParse({
    url,
    description: description || null,
    event_names: events.length > 0 ? events : null,
  });
  if (!parsed.success) throw validationError(issuesOf(parsed.error));
  return parsed.data;
}

interface EndpointFormProps {
  view: SignedInView;
  /** Null: the form creates an endpoint. */
  endpoint: EndpointView | null;
  form: EndpointFormValues;
  error: string | null;
}

const EndpointForm: FC<EndpointFormProps> = ({ view, endpoint, form, error }) => {
  const { root, words } = view;
  const { webhooksPage } = words;
  const title = endpoint ? webhooksPage.edit : webhooksPage.add;
  const back = endpoint ? `${PATH}${endpoint.id}/` : PATH;
  const path = endpoint ? `${PATH}${endpoint.id}/edit/` : `${PATH}new/`;
  return (
    <Frame view={view} title={title} path={path}>
      <section class="card narrow">
        <h1>{title}</h1>
        {error && <p role="alert" class="error">{error}</p>}
        <form method="post" action={root + path}>
          <FormToken view={view} />
          <input type="hidden" name="id" value={form.id} />
          <input type="hidden" name="shown_at" value={form.shownAt} />
          <label for="url">{webhooksPage.url}</label>
          <input
            id="url"
            name="url"
            type="url"
            required
            maxlength={2000}
            value={form.url}
            aria-describedby="url-help"
          />
          <p id="url-help" class="help">{webhooksPage.urlHelp}</p>
          <label for="description">{webhooksPage.description}</label>
          <input id="description" name="description" maxlength={500} value={form.description} />
          <fieldset>
            <legend>{webhooksPage.events}</legend>
            <p class="help">{webhooksPage.eventsHelp}</p>
            {EVENT_NAMES.map((name) => (
              <label>
                <input
                  type="checkbox"
                  name={fieldOf(name)}
                  checked={form.events.includes(name)}
                />
                {name}
              </label>
            ))}
          </fieldset>
          <div class="actions after">
            <button type="submit" class="primary">
              {endpoint ? webhooksPage.save : webhooksPage.add}
            </button>
            <a class="button" href={root + back}>{words.back}</a>
          </div>
        </form>
      </section>
    </Frame>
  );
};
