/** A real SMTP server that keeps the mails it accepts. */

import { Buffer } from "node:buffer";
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from "../events/test_certificate.ts";
import { SMTP_SERVER } from "../tools.ts";

export interface ReceivedMail {
  from: string;
  to: string[];
  /** By lower-case name. */
  headers: Record<string, string>;
  text: string;
  /** Empty: the mail has no HTML part. */
  html: string;
  /** Whether it was sent over TLS. */
  isEncrypted: boolean;
}

export interface MailServerOptions {
  /** TLS from the beginning, with the certificate of the tests. */
  isEncrypted?: boolean;
  /** Offers STARTTLS, and requires it before a login. */
  hasStartTls?: boolean;
  login?: { user: string; password: string };
  /** Called for each receiver; a reply such as `550 5.1.1` refuses the address. */
  refuse?: (address: string) => string | null;
  /** Called with each accepted mail, before the client gets the response. */
  onMail?: (mail: ReceivedMail) => Promise<void> | void;
}

export interface MailServer extends AsyncDisposable {
  port: number;
  mails: ReceivedMail[];
}

type Callback = (error?: Error | null, value?: unknown) => void;

export async function openMailServer(
  options: MailServerOptions & { port?: number } = {},
): Promise<MailServer> {
  const { SMTPServer } = await import(SMTP_SERVER);
  const { isEncrypted = false, hasStartTls = false, login, refuse, onMail, port = 0 } = options;
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    secure: isEncrypted,
    cert: TEST_CERTIFICATE,
    key: TEST_CERTIFICATE_KEY,
    disabledCommands: hasStartTls ? [] : ["STARTTLS"],
    authOptional: login === undefined,
    allowInsecureAuth: !hasStartTls,
    onAuth(auth: { username: string; password: string }, _session: unknown, callback: Callback) {
      const isValid = auth.username === login?.user && auth.password === login?.password;
      callback(isValid ? null : new Error("Invalid login"), { user: auth.username });
    },
    onRcptTo({ address }: { address: string }, _session: unknown, callback: Callback) {
      const [code, detail] = refuse?.(address)?.split(" ") ?? [];
      const error = new Error(`${detail} <${address}> is refused`);
      callback(code === undefined ? null : Object.assign(error, { responseCode: Number(code) }));
    },
    onData(stream: AsyncIterable<Uint8Array>, session: Session, callback: Callback) {
      accept(stream, session).then(() => callback(), callback);
    },
  });
  async function accept(
    stream: AsyncIterable<Uint8Array>,
    { envelope, secure }: Session,
  ): Promise<void> {
    const chunks = await Array.fromAsync(stream);
    const mail = {
      from: envelope.mailFrom.address,
      to: envelope.rcptTo.map(({ address }) => address),
      isEncrypted: secure,
      ...parseMail(Buffer.concat(chunks).toString("latin1")),
    };
    mails.push(mail);
    await onMail?.(mail);
  }
  // Broken connections are part of the tests.
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    port: server.server.address().port,
    mails,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Session {
  secure: boolean;
  envelope: { mailFrom: { address: string }; rcptTo: { address: string }[] };
}

function parseMail(source: string): Pick<ReceivedMail, "headers" | "text" | "html"> {
  const { headers, body } = splitPart(source);
  const boundary = /boundary="?([^";]+)"?/.exec(headers["content-type"] ?? "")?.[1];
  const parts = boundary === undefined
    ? [{ headers, body }]
    : body.split(`--${boundary}`).slice(1, -1).map((part) => splitPart(part.replace(/^\r\n/, "")));
  const bodyOf = (type: string) => {
    const part = parts.find(({ headers }) => headers["content-type"]?.startsWith(type));
    return part ? decodeBody(part.body, part.headers["content-transfer-encoding"] ?? "7bit") : "";
  };
  return { headers, text: bodyOf("text/plain"), html: bodyOf("text/html") };
}

function splitPart(source: string): { headers: Record<string, string>; body: string } {
  const end = source.indexOf("\r\n\r\n");
  const lines = source.slice(0, end).replaceAll(/\r\n[ \t]+/g, " ").split("\r\n");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { headers: Object.fromEntries(headers), body: source.slice(end + 4) };
}

function decodeBody(body: string, encoding: string): string {
  const bytes = encoding === "base64"
    ? Buffer.from(body, "base64")
    : encoding === "quoted-printable"
    ? Buffer.from(
      body.replaceAll("=\r\n", "").replaceAll(
        /=([0-9A-F]{2})/g,
        (_, hex) => String.fromCharCode(parseInt(hex, 16)),
      ),
      "latin1",
    )
    : Buffer.from(body, "latin1");
  return bytes.toString("utf8").replaceAll("\r\n", "\n").trim();
}
