/**
 * What all pages of the console share: the session, the language, forms, and how a page is sent.
 */

import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Child, FC } from "hono/jsx";
import { routePath } from "hono/route";
import type { Authenticate } from "../../core/auth/authenticator.ts";
import { findSession, type OpenSession } from "../../core/auth/console_sessions.ts";
import type { AddressList } from "../../core/config/address_list.ts";
import type { ShownSetting } from "../../core/config/describe.ts";
import type { DoctorConfig } from "../../core/doctor/check_result.ts";
import { ServiceError } from "../../core/errors.ts";
import { dayInWib } from "../../core/gateway/times.ts";
import type { EventStreams } from "../../core/events/streams.ts";
import type { Exports } from "../../core/reports/export_stream.ts";
import { clientAddress, type RateLimit } from "../../http/middleware/rate_limit.ts";
import { rejectsNext, RETRY_AFTER_SECONDS } from "../../http/middleware/shed_load.ts";
import { recordError } from "../../http/problems/render.ts";
import type { AppEnv } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import { ConsoleProblem, explain } from "./explain.ts";
import { Frame } from "./frame.tsx";
import {
  requireOwnForm,
  requireSameOrigin,
  sessionTokenOf,
  type SignedInView,
  type View,
  viewOf,
} from "./session.ts";
import type { Load } from "../../core/status/load.ts";
import type { Migration } from "../../db/migrations/migrate.ts";

/** The service, and what only the console needs. */
export interface ConsoleService extends Service {
  load: Load;
  migrations: Migration[];
  basePath: string;
  /** The settings that the page of the status shows. */
  settings: ShownSetting[];
  doctorConfig: DoctorConfig;
  /** Shared with the API: a user has one limit for both. */
  rateLimit: RateLimit;
  authenticate: Authenticate;
  streams: EventStreams;
  /** Shared with the API, so that its limits hold for both. */
  exports: Exports;
  trustedProxies: AddressList | null;
  /** Signs in without a credential; null except in the embedded default. */
  developmentStaffKey: string | null;
}

export type ConsoleContext = Context<AppEnv>;

export type Form = Record<string, string | File>;

export interface ConsoleBase {
  service: ConsoleService;
  /** The path of the console, such as `/console`. */
  root: string;
  router: Hono<AppEnv>;
  /** A request without a session is redirected to the page to sign in. */
  signedIn(c: ConsoleContext): Promise<SignedInView>;
  /** The fields of a form; throws if no page of this console has sent it. */
  formOf(c: ConsoleContext, session: OpenSession | null): Promise<Form>;
  /** The fields of a form that changes something, or asks the gateway; viewers are refused. */
  actorForm(c: ConsoleContext): Promise<{ view: SignedInView; sent: Form }>;
  page(c: ConsoleContext, html: Child, status?: 200 | 400 | 403 | 413): Response;
}

/** The largest form is that of an invoice with long texts. */
const MAX_FORM_BYTES = 64 * 1024;

const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "Referrer-Policy": "same-origin",
  "X-Frame-Options": "DENY",
};

/**
 * Like the API's `/status/`, the page of the status is served under any load, and so is what leads
 * to it and what every page needs. Sign-ins have a limit of their own.
 */
const SERVED_UNDER_LOAD = [
  "/status/",
  "/sign-in/",
  "/sign-out/",
  "/preferences/",
  "/console.css/",
  "/console.js/",
  "/upload.js/",
  "/invoice_form.js/",
];

function isServedUnderLoad({ req }: ConsoleContext, root: string): boolean {
  return SERVED_UNDER_LOAD.some((path) => req.path.replace(/\/?$/, "/") === root + path);
}

function overloaded(c: ConsoleContext, basePath: string): ConsoleProblem {
  return new ConsoleProblem("unavailable", {
    detail: viewOf(c, basePath).words.problems.overloaded,
    headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
    isExpected: true,
  });
}

/** The form that uploads a report. Its route limits the size and reads the body. */
function isUpload({ req }: ConsoleContext, root: string): boolean {
  return req.method === "POST" && req.path.replace(/\/?$/, "/") === `${root}/reconciliations/`;
}

/** After this time a page that could not be shown is loaded again. */
const RETRY_SECONDS = 5;

/** `console.js` sends it when it updates a page. */
const REFRESH_HEADER = "console-refresh";

/** The request needs a session and has none, or its session has ended. */
class SignInRequired extends Error {
  override name = "SignInRequired";
}

export function createBase(service: ConsoleService): ConsoleBase {
  const { basePath } = service;
  const root = `${basePath}/console`;

  async function signedIn(c: ConsoleContext): Promise<SignedInView> {
    const session = await findLimited(service, c);
    if (!session) throw new SignInRequired();
    c.env.caller = session.caller;
    c.env.route = routePath(c);
    const today = dayInWib(new Date(service.clock()));
    return { ...viewOf(c, basePath), session, today };
  }

  async function formOf(c: ConsoleContext, session: OpenSession | null): Promise<Form> {
    const form = await c.req.parseBody();
    requireOwnForm(c, session, form.token);
    return form;
  }

  return {
    service,
    root,
    router: createConsoleRouter(service, root),
    signedIn,
    formOf,
    async actorForm(c) {
      const view = await signedIn(c);
      const sent = await formOf(c, view.session);
      requireActor(view.session);
      return { view, sent };
    },
    page: (c, html, status = 200) => c.html(`<!doctype html>${html}`, status, HEADERS),
  };
}

function createConsoleRouter({ basePath, load }: ConsoleService, root: string): Hono<AppEnv> {
  const router = new Hono<AppEnv>();
  router.use("*", async (c, next) => {
    c.env.route = `${root}/`;
    // Before the look-up of the session, which needs a query.
    if (!isServedUnderLoad(c, root) && rejectsNext(load)) throw overloaded(c, basePath);
    await next();
  });
  const limitForm = bodyLimit({
    maxSize: MAX_FORM_BYTES,
    onError: () => {
      throw new ServiceError("payload_too_large");
    },
  });
  router.use("*", (c, next) => isUpload(c, root) ? next() : limitForm(c, next));
  router.post("*", async (c, next) => {
    requireSameOrigin(c);
    await next();
  });
  router.onError((thrown, c) =>
    thrown instanceof SignInRequired
      ? c.redirect(`${root}/sign-in/`, 303)
      : showProblem(c, basePath, thrown)
  );
  return router;
}

function showProblem(c: ConsoleContext, basePath: string, thrown: unknown): Response {
  const error = recordError(thrown, c.env);
  const { code, status, headers } = error;
  const { requestId } = c.env;
  // The service recovers by itself. Only a GET may be repeated: a form could act twice.
  const isRetried = code === "unavailable" && c.req.method === "GET";
  const view = viewOf(c, basePath);
  const { from, to } = view.words;
  const labels = { from, to, created_from: from, created_to: to };
  const props = { view, text: explain(view, error, labels), requestId, isRetried };
  return c.html(`<!doctype html>${<ProblemPage {...props} />}`, status as 400, {
    ...HEADERS,
    ...headers,
    ...isRetried && { Refresh: String(RETRY_SECONDS) },
  });
}

interface ProblemProps {
  view: View;
  /** What went wrong, and what to do next. */
  text: string;
  requestId: string;
  /** Whether the browser loads the page again. */
  isRetried: boolean;
}

const ProblemPage: FC<ProblemProps> = ({ view, text, requestId, isRetried }) => (
  <Frame view={view} title={view.words.failed} path="/">
    <section class="card narrow">
      <h1>{view.words.failed}</h1>
      <p role="alert" class="error">{text}</p>
      {isRetried && <p>{view.words.retriedByItself}</p>}
      <p class="help">{view.words.request} {requestId}</p>
      <a class="button" href={`${view.root}/`}>{view.words.back}</a>
    </section>
  </Frame>
);

/** Rate limited like the API: invalid sessions by address, before the look-up; others by user. */
async function findLimited(
  service: ConsoleService,
  c: ConsoleContext,
): Promise<OpenSession | null> {
  const { rateLimit, trustedProxies } = service;
  const token = sessionTokenOf(c);
  if (token === null) return null;
  const address = `address:${clientAddress(c, trustedProxies)}`;
  rateLimit.count(address);
  // A page that updates itself must not keep the session of an absent user alive.
  const isUse = c.req.header(REFRESH_HEADER) === undefined && !c.req.path.endsWith("/live/");
  const session = await findSession(service, token, { isUse }).catch((error) => {
    rateLimit.uncount(address);
    throw error;
  });
  if (!session) return null;
  rateLimit.uncount(address);
  rateLimit.countCaller(session.caller.userId);
  return session;
}

/**
 * For routes that change something. The core refuses viewers, too; this also covers status checks.
 */
export function requireActor({ caller }: OpenSession): void {
  if (caller.isStaff) return;
  throw new ServiceError("forbidden", {
    detail: "A viewer can only read stored data. Sign in with a staff credential.",
  });
}
