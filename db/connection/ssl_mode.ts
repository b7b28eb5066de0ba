/** Resolves `sslmode=prefer`: use TLS if the server offers it, otherwise no encryption. */

import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { withTimeLimit } from "../../concurrency/deadlines.ts";

const RESPONSE_TIMEOUT_MS = 2_000;

/** The database often starts together with the service, but slower. */
const WAIT_MS = 30_000;

const RETRY_MS = 500;

const DEFAULT_PORT = 5432;

/** PostgreSQL's SSLRequest: its length, and the code that stands for this request. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/**
 * Replaces `prefer` by `require` or `disable`, because the driver of the job queue does not know
 * `prefer`. If the server does not respond, the URL stays as it is: the first connection reports
 * the error.
 */
export async function resolveSslMode(url: string, waitMs = WAIT_MS): Promise<string> {
  const parsed = new URL(url);
  if (parsed.searchParams.get("sslmode") !== "prefer") return url;
  const deadline = Date.now() + waitMs;
  while (true) {
    try {
      const mode = await offersTls(parsed) ? "require" : "disable";
      parsed.searchParams.set("sslmode", mode);
      return parsed.href;
    } catch {
      if (Date.now() > deadline) return url;
      await delay(RETRY_MS);
    }
  }
}

async function offersTls({ hostname, port }: URL): Promise<boolean> {
  const host = decodeURIComponent(hostname).replace(/^\[|\]$/g, "");
  const socket = connect({ host, port: Number(port || DEFAULT_PORT) });
  try {
    return await withTimeLimit(RESPONSE_TIMEOUT_MS, async (signal) => {
      await once(socket, "connect", { signal });
      socket.write(SSL_REQUEST);
      const [response] = await once(socket, "data", { signal });
      return response.toString("latin1", 0, 1) === "S";
    });
  } finally {
    socket.destroy();
  }
}
