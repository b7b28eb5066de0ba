/** Sends mail over SMTP. The library is loaded with the first mail, because most services send none. */

import type { Transporter } from "nodemailer";
import type { MailConfig } from "../config/config.ts";

export interface Mail {
  /** Addresses without names. */
  to: readonly string[];
  subject: string;
  text: string;
  html?: string;
  /** The same for every copy of a mail, so that mail programs can deduplicate. */
  id: string;
}

export interface Mailer {
  /** Throws `MailError` if the server did not accept the mail. */
  send(mail: Mail): Promise<void>;
}

export interface MailerOptions {
  /** A certificate in PEM that is trusted instead of the system's. */
  ca?: string;
}

/** The handler that sends a mail has 30 seconds. */
const TIMEOUTS = {
  dnsTimeout: 5_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 15_000,
};

/** The server did not accept a mail. The text has no part of the mail and of the settings. */
export class MailError extends Error {
  override name = "MailError";

  /** `isRefusedAddress`: the server refuses the receiver's address permanently. */
  constructor(message: string, readonly isRefusedAddress: boolean) {
    super(message);
  }
}

export function createMailer(config: MailConfig, { ca }: MailerOptions = {}): Mailer {
  const { host, port, encryption, login } = config.server;
  const domain = domainOf(config.from);
  let opening: Promise<Transporter> | null = null;

  async function open(): Promise<Transporter> {
    const { createTransport } = await import("nodemailer");
    return createTransport({
      host,
      port,
      secure: encryption === "tls",
      requireTLS: encryption === "starttls",
      // A server on this machine may offer TLS with a certificate of its own.
      ignoreTLS: encryption === "none",
      // Otherwise the library asks the system for the name of the machine.
      name: domain,
      auth: login ? { user: login.user, pass: login.password } : undefined,
      tls: ca === undefined ? undefined : { ca },
      // A mail contains only what it is given, never a file or what a URL returns.
      disableFileAccess: true,
      disableUrlAccess: true,
      ...TIMEOUTS,
    }) as Transporter;
  }

  return {
    async send({ to, subject, text, html, id }) {
      opening ??= open();
      const transport = await opening;
      try {
        await transport.sendMail({
          from: config.from,
          // As objects: in a text, `a@shop.example, b@shop.example` would be two receivers.
          to: to.map((address) => ({ name: "", address })),
          subject,
          text,
          html,
          messageId: `<${id}@${domain}>`,
          headers: { "Auto-Submitted": "auto-generated" },
        });
      } catch (error) {
        throw toMailError(error);
      }
    },
  };
}

/** `shop.example` of `Kopi Kita <receipts@shop.example>`. */
function domainOf(from: string): string {
  return from.slice(from.lastIndexOf("@") + 1).replace(/>.*$/, "");
}

const PROBLEMS: Record<string, string> = {
  EAUTH: "The mail server refused the user or the password in SMTP_URL",
  ECONNECTION: "The mail server cannot be reached",
  EDNS: "The host in SMTP_URL does not resolve",
  EENVELOPE: "The mail server refused the sender or the receiver",
  EMESSAGE: "The mail server refused the message",
  ESOCKET: "The connection to the mail server failed",
  ETIMEDOUT: "The mail server did not respond in time",
  ETLS: "The mail server offers no TLS, or its certificate is not valid",
};

/** The library's messages contain what the server says, which can contain addresses. */
function toMailError(thrown: unknown): MailError {
  const { code, responseCode, command } = thrown as SmtpFailure;
  const problem = PROBLEMS[code ?? ""] ?? "The mail could not be sent";
  const answer = responseCode ? ` (${responseCode})` : "";
  const isPermanent = responseCode !== undefined && responseCode >= 500;
  // Without a response of the server, the library itself refused an invalid address.
  const isRefused = code === "EENVELOPE" &&
    (command === "RCPT TO" ? isPermanent : responseCode === undefined);
  return new MailError(problem + answer, isRefused);
}

interface SmtpFailure {
  code?: string;
  responseCode?: number;
  command?: string;
}
