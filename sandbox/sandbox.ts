/** The whole gateway in a box: its endpoints, its controls and its pages over one world. */

import { setTimeout as delay } from "node:timers/promises";
import { Hono } from "hono";
import { createControl } from "./control/control.ts";
import { ENDPOINTS } from "./api/endpoints.ts";
import { BINS, CONTROL, CORE, type Family, INVOICES, SUBSCRIPTIONS } from "./api/families.ts";
import { createIdempotency } from "./api/idempotency.ts";
import { Refusal } from "./http/refusal.ts";
import { render } from "./http/response.ts";
import { type Pipeline, serveEndpoint } from "./api/serve_endpoint.ts";
import { createPages } from "./pages/pages.ts";
import { openWorld, type WorldOptions } from "./open_world.ts";
import type { OpenWorld } from "./world/world.ts";

export interface SandboxOptions extends Pick<WorldOptions, "path" | "seed" | "speed" | "settings"> {
  serverKey?: string;
  clientKey?: string;
  hostname?: string;
  /** 0 takes any free one. */
  port: number;
  /** Where browsers find it, if not where it listens. */
  publicUrl?: string;
  /** Told of the sandbox's own mistakes. */
  onMistake?: (error: unknown) => void;
}

export { JournalError } from "./engine/journal.ts";

export interface Sandbox extends AsyncDisposable {
  url: string;
  /** Sends all webhooks to this address from now on. */
  notify(url: string): void;
  /** Where they go, as far as that was ever said. */
  notifiedUrl(): string | null;
}

/** Everybody knows them: good for a gateway that moves no money, and for nothing else. */
export const DEFAULT_KEYS = { server: "SB-Mid-server-sandbox", client: "SB-Mid-client-sandbox" };

/** How long requests that are under way may take to finish at the end. */
const GRACE_MS = 1000;

export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const closing = new AbortController();
  const listeners = new Set<() => void>();
  let publicUrl = options.publicUrl ?? "";
  const onMistake = options.onMistake ?? ((error) => console.error(error));
  const world = await openWorld({
    ...options,
    serverKey: options.serverKey ?? DEFAULT_KEYS.server,
    clientKey: options.clientKey ?? DEFAULT_KEYS.client,
    publicUrl: () => publicUrl,
    onMistake,
    onChange: () => listeners.forEach((listener) => listener()),
  });
  const pipeline: Pipeline = {
    world,
    idempotency: createIdempotency(world.clock, world.answers),
    closing: closing.signal,
    reportMistake: onMistake,
  };

  const app = new Hono();
  for (const endpoint of ENDPOINTS) {
    app.on(endpoint.method, endpoint.path, serveEndpoint(endpoint, pipeline));
  }
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  app.route("/_sandbox", createControl({ world, subscribe, closing: closing.signal }));
  app.route("/", createPages(world));

  const refuse = (path: string, refusal: Refusal) =>
    render(familyOf(path).refuse(refusal, world.random.uuid()));
  app.notFound((c) => {
    const isKnown = ["GET", "POST", "PATCH", "DELETE"].some((method) =>
      // Middleware is for all methods and answers none of them.
      app.router.match(method, c.req.path)[0].some(([[, route]]) => route.method !== "ALL")
    );
    const code = isKnown ? 405 : 404;
    const message = isKnown ? undefined : "The requested resource is not found";
    return refuse(c.req.path, new Refusal(code, message));
  });
  app.onError((error, c) => {
    if (!(error instanceof Refusal)) pipeline.reportMistake(error);
    return refuse(c.req.path, error instanceof Refusal ? error : new Refusal(500));
  });

  const server = await listen(options, app.fetch, world);
  const { hostname, port } = server.addr;
  const url = `http://${nameOf(hostname)}:${port}`;
  publicUrl ||= url;
  return {
    url,
    notify(address) {
      world.settings.notification_url = address;
      world.settings.recurring_notification_url = address;
      world.settings.pay_account_notification_url = address;
      world.remember();
    },
    notifiedUrl: () => world.settings.notification_url,
    async [Symbol.asyncDispose]() {
      closing.abort();
      // Those who wait for webhooks to arrive would wait for receivers that do not answer.
      await world.hush();
      // Nor is anybody waited for who began a request and does not end it.
      const grace = new AbortController();
      const { signal } = grace;
      await Promise.race([server.shutdown(), delay(GRACE_MS, null, { signal }).catch(() => {})]);
      grace.abort();
      await world.close();
    },
  };
}

/** An address that stands for all of them leads nowhere in a browser. */
function nameOf(hostname: string): string {
  if (hostname === "0.0.0.0" || hostname === "::") return "127.0.0.1";
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** A port that cannot be had leaves nothing open behind. */
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

/** Also where nothing is, each part of the gateway refuses in its own shape. */
function familyOf(path: string): Family {
  if (path.startsWith("/v1/subscriptions")) return SUBSCRIPTIONS;
  if (path.startsWith("/v1/invoices")) return INVOICES;
  if (path.startsWith("/v1/bins")) return BINS;
  return path.startsWith("/_sandbox") ? CONTROL : CORE;
}
