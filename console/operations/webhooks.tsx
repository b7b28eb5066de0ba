/** `/console/webhooks/`: endpoints, their health, and their deliveries. */

import type { Child, FC } from "hono/jsx";
import {
  DELIVERY_STATUSES,
  listWebhookDeliveries,
  resendWebhookDelivery,
} from "../../core/webhooks/deliveries.ts";
import {
  listWebhookEndpoints,
  readWebhookEndpoint,
  rotateWebhookSecret,
  type TestResult,
  testWebhookEndpoint,
  updateWebhookEndpoint,
} from "../../core/webhooks/endpoints.ts";
import type { DeliveryView, EndpointView } from "../../core/webhooks/views.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase, ConsoleContext } from "../shared/base.tsx";
import { DeliveryResult, DeliveryStatus } from "./deliveries.tsx";
import {
  ActionButton,
  BackLink,
  Card,
  Facts,
  FormToken,
  Label,
  Secret,
  shorten,
  Time,
} from "../shared/elements.tsx";
import { Choice } from "../shared/fields.tsx";
import { FilterBar } from "../shared/filter_bar.tsx";
import { Frame } from "../shared/frame.tsx";
import { choose, cursorOf, ListPage, PAGE_SIZE } from "../shared/list_page.tsx";
import type { SignedInView, View } from "../shared/session.ts";

const PATH = "/webhooks/";

export function addWebhooks(base: ConsoleBase): void {
  const { service, root, router, signedIn, formOf, page } = base;

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const isFailing = c.req.query("health") === "failing";
    const { endpoints, next } = await listWebhookEndpoints(service, view.session.caller, {
      limit: PAGE_SIZE,
      before: cursorOf(c),
      isFailing,
    });
    const message = messageOf(view, c.req.query("done"));
    return page(c, <EndpointsPage {...{ view, isFailing, endpoints, next, message }} />);
  });

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    return await showEndpoint(base, c, view, parsePathId(c.req.param("id")), { test: null });
  });

  router.post(`${PATH}:id/:delivery/resend/`, async (c) => {
    const { session } = await signedIn(c);
    const { from } = await formOf(c, session);
    const id = parsePathId(c.req.param("id"));
    const delivery = parsePathId(c.req.param("delivery"));
    await resendWebhookDelivery(service, session.caller, id, delivery);
    const back = from === "event" ? `/events/${delivery}/` : `${PATH}${id}/`;
    return c.redirect(`${root}${back}?done=resent`, 303);
  });

  router.post(`${PATH}:id/test/`, async (c) => {
    const view = await signedIn(c);
    await formOf(c, view.session);
    const id = parsePathId(c.req.param("id"));
    const test = await testWebhookEndpoint(service, view.session.caller, id);
    return await showEndpoint(base, c, view, id, { test });
  });

  for (const action of ["enable", "disable"] as const) {
    router.post(`${PATH}:id/${action}/`, async (c) => {
      const { session } = await signedIn(c);
      await formOf(c, session);
      const id = parsePathId(c.req.param("id"));
      await updateWebhookEndpoint(service, session.caller, id, { enabled: action === "enable" });
      return c.redirect(`${root}${PATH}${id}/?done=${action}d`, 303);
    });
  }

  addRotation(base);
}

function addRotation({ service, root, router, signedIn, formOf, page }: ConsoleBase): void {
  router.get(`${PATH}:id/rotate-secret/`, async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const endpoint = await readWebhookEndpoint(service, view.session.caller, id);
    return page(
      c,
      <ConfirmEndpointPage
        view={view}
        endpoint={endpoint}
        action="rotate-secret"
        name={view.words.rotate}
        effect={view.words.rotateEffect}
      />,
    );
  });

  router.post(`${PATH}:id/rotate-secret/`, async (c) => {
    const view = await signedIn(c);
    const { shown_at } = await formOf(c, view.session);
    const id = parsePathId(c.req.param("id"));
    const shownAt = parseShownAt(shown_at);
    const { body } = await rotateWebhookSecret(service, view.session.caller, id, { shownAt });
    const back = `${root}${PATH}${id}/`;
    return page(
      c,
      <Frame view={view} title={view.words.rotate} path={`${PATH}${id}/`}>
        <Secret view={view} label={view.words.newSecret} value={body.secret} back={back} />
      </Frame>,
    );
  });
}

interface EndpointsProps {
  view: SignedInView;
  isFailing: boolean;
  endpoints: EndpointView[];
  next: string | null;
  message: string | null;
}

const EndpointsPage: FC<EndpointsProps> = ({ view, isFailing, endpoints, next, message }) => {
  const { root, words, session } = view;
  const { events, add, noEndpoints, failing } = words.webhooksPage;
  const rows = endpoints.map((endpoint) => [
    <div class="url">
      <a href={`${root}${PATH}${endpoint.id}/`}>{endpoint.url}</a>
      {endpoint.description && <span class="faint">{shorten(endpoint.description)}</span>}
    </div>,
    <Health view={view} endpoint={endpoint} />,
    <EventNames view={view} endpoint={endpoint} />,
    <Time view={view} at={endpoint.created_at} />,
  ]);
  return (
    <ListPage
      view={view}
      title={words.webhooks}
      path={PATH}
      columns={[words.endpoint, words.status, events, words.created]}
      rows={rows}
      next={next && encodeCursor(next)}
      query={isFailing ? [["health", "failing"]] : []}
      empty={isFailing ? undefined : noEndpoints}
      message={message}
      isLive
      action={session.caller.isStaff && (
        <a class="button primary" href={`${root}${PATH}new/`}>{add}</a>
      )}
    >
      <FilterBar view={view} path={PATH} days={null}>
        <Choice
          name="health"
          label={words.status}
          value={isFailing ? "failing" : ""}
          options={{ failing }}
          any={words.any}
        />
      </FilterBar>
    </ListPage>
  );
};

async function showEndpoint(
  { service, page }: ConsoleBase,
  c: ConsoleContext,
  view: SignedInView,
  id: string,
  { test }: { test: TestResult | null },
): Promise<Response> {
  const { words, session } = view;
  const { response, statuses } = words.webhooksPage;
  const status = choose(DELIVERY_STATUSES, c.req.query("status"));
  const endpoint = await readWebhookEndpoint(service, session.caller, id);
  const { deliveries, next } = await listWebhookDeliveries(service, session.caller, id, {
    status,
    limit: PAGE_SIZE,
    before: cursorOf(c),
  });
  return page(
    c,
    <ListPage
      view={view}
      title={endpoint.url}
      path={`${PATH}${id}/`}
      columns={[words.event, words.status, words.attempts, response, ""]}
      amounts={[2]}
      rows={deliveries.map((delivery) => cellsOf(view, id, delivery))}
      next={next && encodeCursor(next)}
      status={{ chosen: status ?? "", all: DELIVERY_STATUSES, names: statuses }}
      message={messageOf(view, c.req.query("done"))}
      back={<BackLink view={view} to={PATH}>{words.webhooks}</BackLink>}
      // After a test the page has the address of the form, which cannot be loaded with GET.
      isLive={test === null}
    >
      {test && <Tested view={view} test={test} />}
      <EndpointDetails view={view} endpoint={endpoint} />
      <h2>{words.deliveries}</h2>
    </ListPage>,
  );
}

function cellsOf(view: SignedInView, endpointId: string, delivery: DeliveryView): Child[] {
  const { root, words } = view;
  return [
    <>
      <a href={`${root}/events/${delivery.id}/`}>{delivery.event_name}</a>
      <span class="faint">
        <Time view={view} at={delivery.created_at} />
      </span>
    </>,
    <>
      <DeliveryStatus view={view} status={delivery.status} />
      {delivery.next_attempt_at && (
        <span class="faint">
          {words.webhooksPage.nextAttempt}: <Time view={view} at={delivery.next_attempt_at} />
        </span>
      )}
    </>,
    delivery.attempts,
    <div class="text">
      <DeliveryResult view={view} delivery={delivery} />
    </div>,
    <ActionButton view={view} to={`${PATH}${endpointId}/${delivery.id}/resend/`}>
      {words.resend}
    </ActionButton>,
  ];
}

/** The `updated_at` of the endpoint when the form was shown. A form without it changes nothing. */
export function parseShownAt(sent: unknown): Date {
  const time = new Date(String(sent ?? ""));
  return Number.isNaN(time.getTime()) ? new Date(0) : time;
}

function messageOf({ words }: View, done: string | undefined): string | null {
  if (done === "resent") return words.resent;
  return Object.entries(words.webhooksPage.done).find(([name]) => name === done)?.[1] ?? null;
}

interface EndpointProps {
  view: SignedInView;
  endpoint: EndpointView;
}

const Health: FC<EndpointProps> = ({ view, endpoint }) => {
  const { words } = view;
  if (!endpoint.enabled) return <Label tone="bad">{words.disabled}</Label>;
  if (endpoint.failing_since === null) return <Label tone="good">{words.enabled}</Label>;
  return (
    <Label tone="wait">
      {words.failingSince} <Time view={view} at={endpoint.failing_since} />
    </Label>
  );
};

const EventNames: FC<EndpointProps> = ({ view, endpoint: { event_names } }) => {
  if (event_names === null) return <>{view.words.webhooksPage.everyEvent}</>;
  return <div class="text">{event_names.join(", ")}</div>;
};

const EndpointDetails: FC<EndpointProps> = ({ view, endpoint }) => {
  const { root, words, session } = view;
  const { webhooksPage } = words;
  const path = `${PATH}${endpoint.id}/`;
  const { disabled_reason, previous_secret_until } = endpoint;
  return (
    <section class="card" aria-labelledby="endpoint" data-part="endpoint">
      <h2 id="endpoint">{words.details}</h2>
      <Facts
        facts={{
          [words.status]: <Health view={view} endpoint={endpoint} />,
          [words.reason]: disabled_reason && webhooksPage.reasons[disabled_reason],
          [webhooksPage.description]: endpoint.description,
          [webhooksPage.events]: <EventNames view={view} endpoint={endpoint} />,
          [webhooksPage.oldSecretUntil]: previous_secret_until &&
            <Time view={view} at={previous_secret_until} />,
          [words.created]: <Time view={view} at={endpoint.created_at} />,
          ID: <code>{endpoint.id}</code>,
        }}
      />
      {session.caller.isStaff && (
        <div class="actions after">
          <ActionButton view={view} to={`${path}test/`}>{words.test}</ActionButton>
          <a class="button" href={`${root}${path}edit/`}>{webhooksPage.edit}</a>
          <ActionButton view={view} to={`${path}${endpoint.enabled ? "disable" : "enable"}/`}>
            {endpoint.enabled ? webhooksPage.disable : webhooksPage.enable}
          </ActionButton>
          <a class="button" href={`${root}${path}rotate-secret/`}>{words.rotate}</a>
          <a class="button danger" href={`${root}${path}delete/`}>{webhooksPage.remove}</a>
        </div>
      )}
    </section>
  );
};

/** What the receiver answered to a test. */
const Tested: FC<{ view: View; test: TestResult }> = ({ view, test }) => {
  const { words } = view;
  return (
    <Card id="test" title={words.webhooksPage.testResult}>
      <p role="status" class={test.succeeded ? "done" : "error"}>
        {test.succeeded ? words.testSucceeded : words.testFailed}
      </p>
      <Facts
        facts={{
          [words.webhooksPage.response]: test.status_code ?? test.error,
          [words.webhooksPage.answer]: test.answer && <pre class="json">{test.answer}</pre>,
          [words.webhooksPage.duration]: `${test.duration_ms} ms`,
        }}
      />
    </Card>
  );
};

interface ConfirmEndpointProps extends EndpointProps {
  /** The last part of the address. */
  action: "rotate-secret" | "delete";
  name: string;
  effect: string;
}

/** Asks before an action that cannot be undone. */
export const ConfirmEndpointPage: FC<ConfirmEndpointProps> = (
  { view, endpoint, action, name, effect },
) => {
  const { root, words } = view;
  const path = `${PATH}${endpoint.id}/${action}/`;
  return (
    <Frame view={view} title={name} path={path}>
      <section class="card narrow">
        <h1>{name}</h1>
        <p class="url">{endpoint.url}</p>
        <p>{effect}</p>
        <form method="post" action={root + path}>
          <FormToken view={view} />
          <input type="hidden" name="shown_at" value={endpoint.updated_at} />
          <div class="actions">
            <button type="submit" class="danger">{name}</button>
            <a class="button" href={`${root}${PATH}${endpoint.id}/`}>{words.back}</a>
          </div>
        </form>
      </section>
    </Frame>
  );
};
