/** Sends mail over SMTP. The library is loaded with the first mail: most services send none. */

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
  /**
   * Throws `MailError` if the server did not accept the mail. `refused`: of several receivers, the
   * number of those whose address the server did not accept.
   */
  send(mail: Mail): Promise<{ refused: number }>;
}

export interface MailerOptions {
  /** A certificate in PEM that is trusted instead of the system's. */
  ca?: string;
}

/**
 * Together less than `MAIL_LIMIT_MS`. A server that examines a mail accepts it late: if the service
 * stopped waiting before that, it would send the mail again.
 */
const TIMEOUTS = {
  dnsTimeout: 3_000,
  connectionTimeout: 5_000,
  greetingTimeout: 5_000,
  socketTimeout: 60_000,
};

/** How long a mail may take. A job may take 90 seconds. */
export const MAIL_LIMIT_MS = 80_000;

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
      // A failed import is tried again with the next mail.
      opening ??= open().catch((error) => {
        opening = null;
        throw error;
      });
      const transport = await opening;
      try {
        const { rejected = [] } = await transport.sendMail({
          from: config.from,
          // As objects: in a text, `a@shop.example, b@shop.example` would be two receivers.
          to: to.map((address) => ({ name: "", address })),
          subject,
          text,
          html,
          messageId: `<${id}@${domain}>`,
          headers: { "Auto-Submitted": "auto-generated" },
        });
        return { refused: rejected.length };
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
  const { code, responseCode, response, command } = thrown as SmtpFailure;
  const problem = PROBLEMS[code ?? ""] ?? "The mail could not be sent";
  const answer = responseCode ? ` (${responseCode})` : "";
  // Only 5.1.1 to 5.1.3 and 5.1.6 say that the address is wrong. A server also refuses at this
  // point if it does not relay mail of this sender, such as with 5.7.1.
  const isWrongAddress = command === "RCPT TO" && /^5\d\d[ -]5\.1\.[1236]\b/.test(response ?? "");
  // The library itself refuses text that is no address, without a connection.
  const isNoAddress = code === "EENVELOPE" && command === "API";
  return new MailError(problem + answer, isWrongAddress || isNoAddress);
}

interface SmtpFailure {
  code?: string;
  responseCode?: number;
  response?: string;
  command?: string;
}
