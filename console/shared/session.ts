/** The console's requests: who sent them, in which language, and whether a form may act. */

import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { randomBytes } from "node:crypto";
import { isSameToken, type OpenSession } from "../../core/auth/console_sessions.ts";
import type { AppEnv } from "../../http/router.ts";
import { ConsoleProblem } from "./explain.ts";
import { chooseLanguage, type Language, wordsOf } from "../words/languages.ts";
import type { Words } from "../words/words.ts";

export const THEMES = ["auto", "light", "dark"] as const;

export type Theme = (typeof THEMES)[number];

/** What every page needs to know about its request. */
export interface View {
  /** The prefix of all paths of the service. */
  basePath: string;
  /** The path of the console, such as `/console`. */
  root: string;
  language: Language;
  words: Words;
  theme: Theme;
  /** Null on the page to sign in. */
  session: OpenSession | null;
}

export interface SignedInView extends View {
  session: OpenSession;
  /** The day in Jakarta, such as `2026-11-16`. */
  today: string;
}

const SESSION = "console_session";
const LANGUAGE = "console_language";
const THEME = "console_theme";
/** Protects the form to sign in, because there is no session yet whose token could protect it. */
const FORM = "console_form";

/** The prefix makes browsers refuse the cookie without TLS, and from any other host. */
const SECURE_SESSION = `__Host-${SESSION}`;

export function viewOf(c: Context<AppEnv>, basePath: string): View {
  const language = languageOf(c);
  const theme = THEMES.find((each) => each === getCookie(c, THEME)) ?? "auto";
  const root = `${basePath}/console`;
  return { basePath, root, language, words: wordsOf(language), theme, session: null };
}

function languageOf(c: Context<AppEnv>): Language {
  return chooseLanguage(getCookie(c, LANGUAGE), c.req.header("accept-language"));
}

/**
 * Null: the request has none. A request with TLS must have the cookie that is bound to the host,
 * because a page of another host of the same domain can set the other one.
 */
export function sessionTokenOf(c: Context<AppEnv>): string | null {
  const bound = getCookie(c, SECURE_SESSION);
  return (isSecure(c) ? bound : bound ?? getCookie(c, SESSION)) ?? null;
}

export function setSessionCookie(c: Context<AppEnv>, root: string, token: string, expires: Date) {
  const options = { httpOnly: true, sameSite: "Strict", expires } as const;
  if (isSecure(c)) setCookie(c, SECURE_SESSION, token, { ...options, secure: true, path: "/" });
  else setCookie(c, SESSION, token, { ...options, path: `${root}/` });
}

export function clearSessionCookie(c: Context<AppEnv>, root: string): void {
  const expires = new Date(0);
  setCookie(c, SECURE_SESSION, "", { expires, secure: true, path: "/" });
  setCookie(c, SESSION, "", { expires, path: `${root}/` });
}

export function setPreference(
  c: Context<AppEnv>,
  root: string,
  name: "language" | "theme",
  value: string,
): void {
  setCookie(c, name === "language" ? LANGUAGE : THEME, value, {
    path: `${root}/`,
    sameSite: "Strict",
    maxAge: 365 * 86_400,
  });
}

/** The token of the form to sign in; creates its cookie if the browser has none. */
export function signInToken(c: Context<AppEnv>, root: string): string {
  const known = getCookie(c, FORM);
  if (known) return known;
  const token = randomBytes(16).toString("base64url");
  setCookie(c, FORM, token, { path: `${root}/`, httpOnly: true, sameSite: "Strict" });
  return token;
}

/** Throws if a form was not sent by a page of this console. */
export function requireOwnForm(
  c: Context<AppEnv>,
  session: OpenSession | null,
  sentToken: unknown,
): void {
  requireSameOrigin(c);
  const expected = session?.formToken ?? getCookie(c, FORM) ?? "";
  const isOwn = expected !== "" && typeof sentToken === "string" &&
    isSameToken(sentToken, expected);
  if (!isOwn) throw foreignForm(c);
}

/** Throws if a page of another host sent the request. */
export function requireSameOrigin(c: Context<AppEnv>): void {
  const origin = originOf(c);
  if (origin === null || origin.host !== c.req.header("host")) throw foreignForm(c);
}

function foreignForm(c: Context<AppEnv>): ConsoleProblem {
  return new ConsoleProblem("forbidden", { detail: wordsOf(languageOf(c)).problems.foreignForm });
}

/** Browsers send the header `Origin` with every POST, and pages cannot change it. */
function originOf(c: Context<AppEnv>): URL | null {
  return URL.parse(c.req.header("origin") ?? "");
}

/**
 * Whether the browser uses TLS. A proxy may end TLS, so only the browser's headers say it. A GET
 * has no `Origin`; but browsers send `Sec-Fetch-Site` only with TLS, or to their own machine. False
 * for a GET of a browser from before 2023 (Safari 16.3), which does not send that header.
 */
function isSecure(c: Context<AppEnv>): boolean {
  const origin = originOf(c);
  if (origin !== null) return origin.protocol === "https:";
  return c.req.header("sec-fetch-site") !== undefined &&
    !OWN_MACHINE.test(c.req.header("host") ?? "");
}

/** The hosts to which browsers send `Sec-Fetch-Site` without TLS, too. */
const OWN_MACHINE = /^((.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])\.?(:\d+)?$/i;
