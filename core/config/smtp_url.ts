/** Parses the address of a mail server, such as `smtps://user:password@smtp.shop.example`. */

import { isLoopback } from "./parsers.ts";

/**
 * - `tls`: TLS from the beginning (`smtps://`)
 * - `starttls`: TLS before anything else is sent; a server that does not offer it gets no mail
 * - `none`: only on this machine
 */
export type SmtpEncryption = "tls" | "starttls" | "none";

export interface SmtpServer {
  host: string;
  port: number;
  encryption: SmtpEncryption;
  /** Null: the server accepts mail without a login. */
  login: { user: string; password: string } | null;
}

const DEFAULT_PORTS: Record<SmtpEncryption, number> = { tls: 465, starttls: 587, none: 25 };

export const SMTP_URL_PROBLEM =
  "must be smtps://user:password@host, or smtp:// for a server with " +
  "STARTTLS, without path and query; percent-encode special characters in user and password, such as @ as %40";

export function parseSmtpUrl(text: string): SmtpServer | undefined {
  const url = URL.parse(text);
  if (!url?.hostname || !/^smtps?:$/.test(url.protocol)) return undefined;
  if (!["", "/"].includes(url.pathname) || url.search !== "" || url.hash !== "") return undefined;
  const login = parseLogin(url);
  if (login === undefined) return undefined;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const encryption = url.protocol === "smtps:" ? "tls" : isLoopback(host) ? "none" : "starttls";
  return { host, port: Number(url.port) || DEFAULT_PORTS[encryption], encryption, login };
}

/** Undefined: only one of user and password is set, or they are not encoded. */
function parseLogin({ username, password }: URL): SmtpServer["login"] | undefined {
  if (username === "" && password === "") return null;
  if (username === "" || password === "") return undefined;
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return undefined;
  }
}
