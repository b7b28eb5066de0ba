/** `/snap/v3/redirection/{token}`: the page on which a customer pays with Snap. */

import type { Context, Hono } from "hono";
import { statusResponse } from "../../charges/responses.ts";
import { Refusal } from "../../http/refusal.ts";
import { type OtherMethod } from "../../snap/methods.ts";
import { findSnapPage, latestOf, snapPath, snapResultPath, snapState } from "../../snap/pages.ts";
import {
  type CardEntry,
  isPaidElsewhere,
  payByCard,
  payByGooglePay,
  payByOther,
  returnUrl,
  threeDsPath,
} from "../../snap/pay.ts";
import type { SnapLanguage, SnapPage } from "../../world/records.ts";
import type { Transaction } from "../../world/transaction.ts";
import type { OpenWorld, World } from "../../world/world.ts";
import { readField, render, sameOriginForm } from "../shared/layout.ts";
import { endedScreen, payScreen, type SnapView, unknownScreen } from "./snap_screens.ts";
import { OTHER_METHOD_NAMES, type Problem, PROBLEMS, SNAP_WORDS } from "./snap_words.ts";

/** The second path is the older one. */
const PATHS = ["/snap/v3/redirection/:token", "/snap/v2/vtweb/:token"];

export function addSnap(pages: Hono, world: OpenWorld): void {
  for (const path of PATHS) {
    pages.get(path, (c) => {
      const page = world.snapPages.get(c.req.param("token") ?? "");
      const language = languageOf(world, page, c.req.query("language"));
      if (!page) return renderUnknown(c, language);
      const view = { world, page, words: SNAP_WORDS[language], language };
      if (snapState(world, page) !== "open") return renderEnded(c, view, false);
      const problem = PROBLEMS.find((each) => each === c.req.query("problem")) ?? null;
      return renderPage(c, view, payScreen(view, problem));
    });

    pages.post(path, sameOriginForm(world), async (c) => {
      const token = c.req.param("token") ?? "";
      const page = findSnapPage(world, token);
      const language = languageOf(world, page, c.req.query("language"));
      world.snapPages.put({ ...page, language });
      const entry = await readEntry(c);
      const problem = startPayment(world, token, entry);
      await world.committed();
      if (problem) return c.redirect(`${c.req.path}?problem=${problem}&language=${language}`, 303);
      return c.redirect(nextPath(world, page, c.req.path), 303);
    });
  }

  pages.get("/snap/v3/redirection/:token/result", (c) => {
    const page = world.snapPages.get(c.req.param("token"));
    const language = languageOf(world, page, c.req.query("language"));
    if (!page) return renderUnknown(c, language);
    const next = nextPath(world, page, snapPath(page.id));
    if (next !== snapResultPath(page.id)) return c.redirect(next, 302);
    const view = { world, page, words: SNAP_WORDS[language], language };
    return renderEnded(c, view, true);
  });
}

function languageOf(
  { settings }: World,
  page: SnapPage | undefined,
  requested: string | undefined,
): SnapLanguage {
  if (requested === "en" || requested === "id") return requested;
  return page?.language ?? settings.preferences.locale;
}

/** Where the customer goes after a step: to the bank, to the result, or back to the page. */
function nextPath(world: World, page: SnapPage, ownPath: string): string {
  const toBank = threeDsPath(latestOf(world, page));
  if (toBank) return toBank;
  const isOver = snapState(world, page) !== "open" && !isPaidElsewhere(latestOf(world, page));
  return isOver ? snapResultPath(page.id) : ownPath;
}

interface Entry extends CardEntry {
  method: string;
}

async function readEntry(c: Context): Promise<Entry> {
  const [month = "", year = ""] = (await readField(c, "expiry")).split("/").map((part) =>
    part.trim()
  );
  return {
    method: await readField(c, "method"),
    number: await readField(c, "number"),
    month,
    year: /^\d\d$/.test(year) ? `20${year}` : year,
    cvv: await readField(c, "cvv"),
    savedToken: await readField(c, "saved"),
    isSaved: await readField(c, "save") !== "",
  };
}

/** Returns what is wrong with the entry; null if the payment was started. */
function startPayment(world: World, token: string, { method, ...card }: Entry): Problem | null {
  try {
    if (method === "google_pay") payByGooglePay(world, token);
    else if (Object.hasOwn(OTHER_METHOD_NAMES, method)) {
      payByOther(world, token, method as OtherMethod);
    } else payByCard(world, token, card);
    return null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return problemOf(world, token, error);
  }
}

/** Null if the page is no longer open: it then shows why. */
function problemOf(world: World, token: string, { code, validation }: Refusal): Problem | null {
  if (snapState(world, findSnapPage(world, token)) !== "open") return null;
  if (code === 409) return "order";
  if (code === 402) return "outdated";
  const [message = ""] = validation;
  if (message.startsWith("card_number")) return "number";
  if (message.startsWith("card_exp")) return "expiry";
  if (message.startsWith("card_cvv")) return "cvv";
  return message.includes("does not accept") ? "not_accepted" : "invalid";
}

function renderPage(c: Context, view: SnapView, body: ReturnType<typeof payScreen>) {
  const { words, language } = view;
  return render(c, {
    title: words.payment,
    language,
    script: "snap_page",
    canBeFramed: true,
    body,
  });
}

/** `isResult`: the payment has just ended, so the page returns to the merchant by itself. */
function renderEnded(c: Context, view: SnapView, isResult: boolean) {
  const { world, page } = view;
  const latest = latestOf(world, page);
  // During 3-D Secure the customer can still continue in this frame.
  if (threeDsPath(latest)) return renderPage(c, view, endedScreen(view, null));
  const url = returnUrl(world, page);
  const isFinal = !isPaidElsewhere(latest);
  const message = { snapToken: page.id, isFinal, ...resultFor(world, page, latest, url) };
  const ended = JSON.stringify({ message, returnUrl: isResult ? url : null });
  return renderPage(c, view, endedScreen(view, ended));
}

/** The callback of the merchant's page, and its argument. */
function resultFor(
  world: World,
  page: SnapPage,
  latest: Transaction | undefined,
  finish_redirect_url: string | null,
) {
  const state = snapState(world, page);
  if (!latest || !["paid", "in_progress", "failed"].includes(state)) {
    const result = { status_code: "407", status_message: [`This payment page is ${state}`] };
    return { callback: "onError", result };
  }
  const { signature_key: _signature, ...response } = statusResponse(world, latest);
  const isPending = latest.status === "pending" || latest.fraud === "challenge";
  const callback = state === "failed" ? "onError" : isPending ? "onPending" : "onSuccess";
  return { callback, result: { ...response, finish_redirect_url } };
}

function renderUnknown(c: Context, language: SnapLanguage) {
  const token = c.req.param("token");
  const [title, text] = SNAP_WORDS[language].unknown;
  const result = { status_code: "404", status_message: [SNAP_WORDS.en.unknown[1]] };
  const message = { snapToken: token, isFinal: true, callback: "onError", result };
  return render(c, {
    title,
    language,
    status: 404,
    script: "snap_page",
    canBeFramed: true,
    body: unknownScreen(title, text, JSON.stringify({ message, returnUrl: null })),
  });
}
