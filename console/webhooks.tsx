/** `/console/webhooks/`: endpoints, their health, and their deliveries. */

import type { FC } from "hono/jsx";
import { listWebhookDeliveries, resendWebhookDelivery } from "../core/webhooks/deliveries.ts";
import {
  listWebhookEndpoints,
  readWebhookEndpoint,
  rotateWebhookSecret,
  testWebhookEndpoint,
} from "../core/webhooks/endpoints.ts";
import type { EndpointView } from "../core/webhooks/views.ts";
import { encodeCursor } from "../routes/shared/page.ts";
import { parsePathId } from "../routes/shared/paths.ts";
import type { ConsoleBase } from "./base.tsx";
import { FormToken, Frame, Secret, Time } from "./frame.tsx";
import { cursorOf, ListPage, PAGE_SIZE } from "./lists.tsx";
import type { SignedInView, View } from "./session.ts";

const PATH = "/webhooks/";

export function addWebhooks(base: ConsoleBase): void {
  const { deps, root, router, signedIn, formOf, page } = base;

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words } = view;
    const isFailing = c.req.query("health") === "failing";
    const { endpoints, next } = await listWebhookEndpoints(deps, view.session.caller, {
      limit: PAGE_SIZE,
      before: cursorOf(c),
      isFailing,
    });
    const rows = endpoints.map((endpoint) => [
      <a href={`${root}${PATH}${endpoint.id}/`}>{endpoint.url}</a>,
      <Health view={view} endpoint={endpoint} />,
      endpoint.event_names?.join(", ") ?? words.any,
      <Time view={view} at={endpoint.created_at} />,
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.webhooks}
        path={PATH}
        columns={[words.endpoint, words.status, words.event, words.created]}
        rows={rows}
        next={next && encodeCursor(next)}
      />,
    );
  });

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const { words, session } = view;
    const id = parsePathId(c.req.param("id"));
    const endpoint = await readWebhookEndpoint(deps, session.caller, id);
    const { deliveries, next } = await listWebhookDeliveries(deps, session.caller, id, {
      status: null,
      limit: PAGE_SIZE,
      before: cursorOf(c),
    });
    const rows = deliveries.map((delivery) => [
      <Time view={view} at={delivery.created_at} />,
      delivery.event_name,
      delivery.status,
      delivery.attempts,
      delivery.error ?? delivery.status_code ?? "",
      session.caller.isStaff && (
        <form method="post" action={`${root}${PATH}${id}/${delivery.id}/resend/`}>
          <FormToken view={view} />
          <button type="submit">{words.resend}</button>
        </form>
      ),
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={endpoint.url}
        path={`${PATH}${id}/`}
        columns={[words.created, words.event, words.status, words.attempts, words.result, ""]}
        rows={rows}
        next={next && encodeCursor(next)}
        message={messageOf(view, c.req.query("done"))}
        isLive
      >
        <EndpointActions view={view} endpoint={endpoint} />
        <h2>{words.deliveries}</h2>
      </ListPage>,
    );
  });

  router.post(`${PATH}:id/:delivery/resend/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    const id = parsePathId(c.req.param("id"));
    await resendWebhookDelivery(deps, session.caller, id, parsePathId(c.req.param("delivery")));
    return c.redirect(`${root}${PATH}${id}/?done=resent`, 303);
  });

  router.post(`${PATH}:id/test/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    const id = parsePathId(c.req.param("id"));
    const { succeeded } = await testWebhookEndpoint(deps, session.caller, id);
    const result = succeeded ? "testSucceeded" : "testFailed";
    return c.redirect(`${root}${PATH}${id}/?done=${result}`, 303);
  });

  router.get(`${PATH}:id/rotate-secret/`, async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const endpoint = await readWebhookEndpoint(deps, view.session.caller, id);
    return page(c, <RotatePage view={view} endpoint={endpoint} />);
  });

  router.post(`${PATH}:id/rotate-secret/`, async (c) => {
    const view = await signedIn(c);
    await formOf(c, view.session);
    const id = parsePathId(c.req.param("id"));
    const { secret } = await rotateWebhookSecret(deps, view.session.caller, id);
    const back = `${root}${PATH}${id}/`;
    return page(
      c,
      <Frame view={view} title={view.words.rotate} path={`${PATH}${id}/`}>
        <Secret view={view} label={view.words.newSecret} value={secret} back={back} />
      </Frame>,
    );
  });
}

const MESSAGES = ["resent", "testSucceeded", "testFailed"] as const;

function messageOf({ words }: View, done: string | undefined): string | null {
  const name = MESSAGES.find((each) => each === done);
  return name ? words[name] : null;
}

interface EndpointProps {
  view: SignedInView;
  endpoint: EndpointView;
}

const Health: FC<EndpointProps> = ({ view, endpoint }) => {
  const { words } = view;
  if (!endpoint.enabled) return <span class="status failure">{words.disabled}</span>;
  if (endpoint.failing_since === null) {
    return <span class="status settlement">{words.enabled}</span>;
  }
  return (
    <span class="status pending">
      {words.failingSince} <Time view={view} at={endpoint.failing_since} />
    </span>
  );
};

const EndpointActions: FC<EndpointProps> = ({ view, endpoint }) => {
  const { root, words, session } = view;
  return (
    <div class="actions">
      <Health view={view} endpoint={endpoint} />
      {session.caller.isStaff && (
        <>
          <form method="post" action={`${root}${PATH}${endpoint.id}/test/`}>
            <FormToken view={view} />
            <button type="submit">{words.test}</button>
          </form>
          <a class="button" href={`${root}${PATH}${endpoint.id}/rotate-secret/`}>{words.rotate}</a>
        </>
      )}
    </div>
  );
};

const RotatePage: FC<EndpointProps> = ({ view, endpoint }) => {
  const { root, words } = view;
  const path = `${PATH}${endpoint.id}/rotate-secret/`;
  return (
    <Frame view={view} title={words.rotate} path={path}>
      <section class="card narrow">
        <h1>{words.rotate}</h1>
        <p>{endpoint.url}</p>
        <p>{words.rotateEffect}</p>
        <form method="post" action={root + path}>
          <FormToken view={view} />
          <div class="actions">
            <button type="submit" class="danger">{words.rotate}</button>
            <a class="button" href={`${root}${PATH}${endpoint.id}/`}>{words.back}</a>
          </div>
        </form>
      </section>
    </Frame>
  );
};
