/** `POST /demo/` and the part of the welcome page that offers it, in the embedded default only. */

import type { Context } from "hono";
import { ServiceError } from "../core/errors.ts";
import { isLoopback } from "../core/config/parsers.ts";
import { escapeHtml } from "./page.ts";

export interface DemoState {
  status: "none" | "running" | "done" | "failed";
  percent: number;
}

export interface Demo {
  state(): Promise<DemoState>;
  /** Starts to fill; does nothing if it runs, or if there is demo data, complete or not. */
  start(): void;
}

/** Throws if a page of another site sent the form, or if another name resolves to this machine. */
export function requireOwnForm(c: Context): void {
  const origin = URL.parse(c.req.header("origin") ?? "");
  const host = c.req.header("host");
  if (origin && origin.host === host && isLoopback(origin.hostname)) return;
  throw new ServiceError("forbidden", { detail: "Press the button on the welcome page." });
}

export function renderDemo({ status, percent }: DemoState, basePath: string): string {
  return `<h2>Demo data</h2>${TEXTS[status](percent, escapeHtml(basePath))}`;
}

const form = (basePath: string) =>
  `<form method="post" action="${basePath}/demo/"><button>Create demo data</button></form>`;

const TEXTS: Record<DemoState["status"], (percent: number, basePath: string) => string> = {
  none: (_, basePath) =>
    `<p>A year of a coffee shop: payments of all common methods, refunds, chargebacks, invoices, ` +
    `subscriptions and settlement reports. It takes about two minutes.</p>${form(basePath)}`,
  running: (percent) =>
    `<p role="status">The demo data is being created: <progress aria-label="Progress" max="100" value="${percent}">` +
    `</progress> ${percent} %. Until it is complete, the clocks of the service and of its sandbox ` +
    `show a time in the past.</p>`,
  done: (_, basePath) =>
    `<p>The demo data is complete: a year of a coffee shop. See it in the ` +
    `<a href="${basePath}/console/">console</a>.</p>`,
  failed: () =>
    `<p>The demo data is incomplete: creating it failed or was interrupted. The log says why. To ` +
    `start fresh, stop the service and delete its data folder.</p>`,
};
