/**
 * Starts the sandbox: one HTTP server with the gateway's endpoints, the control API and the pages.
 */

import { Hono } from "hono";
import { setTimeout as delay } from "node:timers/promises";
import { ENDPOINTS } from "./api/endpoints.ts";
import { BINS, CONTROL, CORE, type Family, INVOICES, SNAP, SUBSCRIPTIONS } from "./api/families.ts";
import { createIdempotency } from "./api/idempotency.ts";
import { type Pipeline, serveEndpoint } from "./api/serve_endpoint.ts";
import { type Control, createControl } from "./control/control.ts";
import { describeTransaction, describeWebhook } from "./control/describe.ts";
import { Refusal } from "./http/refusal.ts";
import { render } from "./http/response.ts";
import { openWorld, type WorldOptions } from "./open_world.ts";
import { createPages } from "./pages/pages.ts";
import type { OpenWorld, ServiceAddress } from "./world/world.ts";

export interface SandboxOptions
  extends Pick<WorldOptions, "path" | "seed" | "speed" | "settings" | "maxFinal"> {
  serverKey?: string;
  clientKey?: string;
  hostname?: string;
  /** 0 picks a free port. */
  port: number;
  /** URL that browsers use, if it differs from the listening address. */
  publicUrl?: string;
  /** Called with internal errors of the sandbox. Default: print them. */
  onError?: (error: unknown) => void;
}

export { StateFileError } from "./engine/store.ts";

export interface Sandbox extends AsyncDisposable {
  url: string;
  /** Sends all webhooks to this URL from now on, unless a charge overrides it. */
  notify(url: string): void;
  /** Makes the empty list show a command that calls the service, instead of the sandbox. */
  showService(service: ServiceAddress): void;
  /**
   * Sets the clock back to `from`, and runs `work`, which moves it forward
   * (`POST /_sandbox/clock`). Then moves it to the present: what is due until then happens.
   */
  replay(from: number, work: () => Promise<void>): Promise<void>;
  /** The sandbox's time during `replay`; null: its time is the present. */
  replayedTime(): number | null;
  /** The webhook URL for payments, if one is set. */
  notifiedUrl(): string | null;
  /** All transactions, newest first, as the control API describes one. */
  transactions(): Iterable<ReturnType<typeof describeTransaction>>;
  /** All webhooks, newest first, as the control API describes one. */
  webhooks(): Iterable<ReturnType<typeof describeWebhook>>;
}

/** These keys are published, which is safe only because the sandbox moves no money. */
export const DEFAULT_KEYS = { server: "SB-Mid-server-sandbox", client: "SB-Mid-client-sandbox" };

/** How long open requests may take to finish at shutdown. */
const GRACE_MS = 1000;

export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const closing = new AbortController();
  const listeners = new Set<() => void>();
  let publicUrl = options.publicUrl ?? "";
  const onError = options.onError ?? ((error) => console.error(error));
  const world = openWorld({
    ...options,
    serverKey: options.serverKey ?? DEFAULT_KEYS.server,
    clientKey: options.clientKey ?? DEFAULT_KEYS.client,
    publicUrl: () => publicUrl,
    onError,
    onChange: () => listeners.forEach((listener) => listener()),
  });
  const pipeline: Pipeline = {
    world,
    idempotency: createIdempotency(world.clock, world.answers),
    closing: closing.signal,
    reportError: onError,
  };

  const watch = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const app = createApp(world, pipeline, watch);
  const server = await listen(options, app.fetch, world);
  const { hostname, port } = server.addr;
  const url = `http://${displayHost(hostname)}:${port}`;
  publicUrl ||= url;
  return {
    url,
    notify(url) {
      world.settings.notification_url = url;
      world.settings.recurring_notification_url = url;
      world.settings.pay_account_notification_url = url;
      world.saveState();
    },
    showService(service) {
      world.service = service;
    },
    ...createReplay(world),
    notifiedUrl: () => world.settings.notification_url,
    transactions: () =>
      Iterator.from(world.transactions.newest()).map((each) => describeTransaction(world, each)),
    webhooks: () => Iterator.from(world.webhooks.newest()).map(describeWebhook),
    async [Symbol.asyncDispose]() {
      closing.abort();
      // Stops deliveries first: control requests wait for them, and a delivery may wait for a
      // receiver that does not respond.
      await world.stopNotifications();
      // A client may never finish sending its request, so the wait for open requests is limited.
      const grace = new AbortController();
      const { signal } = grace;
      await Promise.race([server.shutdown(), delay(GRACE_MS, null, { signal }).catch(() => {})]);
      grace.abort();
      await world.close();
    },
  };
}

export function createReplay(
  { clock, schedule, saveState }: Pick<OpenWorld, "clock" | "schedule" | "saveState">,
) {
  let isReplaying = false;
  return {
    replayedTime: () => isReplaying ? clock.now() : null,
    async replay(from: number, work: () => Promise<void>): Promise<void> {
      const ahead = clock.now() - Date.now();
      isReplaying = true;
      clock.rewind(from);
      try {
        await work();
      } finally {
        try {
          await schedule.advance(Date.now() + ahead);
        } finally {
          // Also if `advance` throws: the service must not stay in the past.
          isReplaying = false;
          saveState();
        }
      }
    },
  };
}

function createApp(
  world: OpenWorld,
  pipeline: Pipeline,
  watch: Control["watch"],
): Hono {
  const { closing } = pipeline;
  const app = new Hono();
  for (const endpoint of ENDPOINTS) {
    app.on(endpoint.method, endpoint.path, serveEndpoint(endpoint, pipeline));
  }
  app.route("/_sandbox", createControl({ world, watch, closing }));
  app.route("/", createPages(world));

  const refuse = (path: string, refusal: Refusal) =>
    render(familyOf(path).refuse(refusal, world.random.uuid()));
  app.notFound((c) => {
    const isKnown = ["GET", "POST", "PATCH", "DELETE"].some((method) =>
      // Middleware is registered for ALL methods, but does not respond to the request.
      app.router.match(method, c.req.path)[0].some(([[, route]]) => route.method !== "ALL")
    );
    const code = isKnown ? 405 : 404;
    const message = isKnown ? undefined : "The requested resource is not found";
    return refuse(c.req.path, new Refusal(code, message));
  });
  app.onError((error, c) => {
    if (!(error instanceof Refusal)) pipeline.reportError(error);
    return refuse(c.req.path, error instanceof Refusal ? error : new Refusal(500));
  });
  return app;
}

/** Browsers cannot open a wildcard address. */
function displayHost(hostname: string): string {
  if (hostname === "0.0.0.0" || hostname === "::") return "127.0.0.1";
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** Closes the world if the port is not available. */
async function listen(
  { hostname = "127.0.0.1", port }: SandboxOptions,
  handler: Deno.ServeHandler,
  world: OpenWorld,
) {
  try {
    return Deno.serve({ hostname, port, onListen: () => {} }, handler);
  } catch (error) {
    await world.close();
    throw error;
  }
}

/** Errors for unknown paths also use the format of the API that the path belongs to. */
function familyOf(path: string): Family {
  if (path.startsWith("/v1/subscriptions")) return SUBSCRIPTIONS;
  if (path.startsWith("/v1/invoices")) return INVOICES;
  if (path.startsWith("/snap/")) return SNAP;
  if (path.startsWith("/v1/bins")) return BINS;
  return path.startsWith("/_sandbox") ? CONTROL : CORE;
}
