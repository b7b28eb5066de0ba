/** One POST on one connection: no redirects, and a bounded response. */

import { Buffer } from "node:buffer";
import { Agent, type AgentOptions, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as TlsAgent, request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { connect, type ConnectionOptions } from "node:tls";
import { AddressNotPublic, hostOf } from "./addresses.ts";

/** Creates the connection pool for `http:` or `https:`. */
export function openConnections(protocol: string, options: AgentOptions): Agent {
  return protocol === "https:" ? new PlainTlsAgent(options) : new Agent(options);
}

/**
 * If NODE_EXTRA_CA_CERTS is set, Deno's own agent first lists all trusted certificates. The service
 * has no permission for that. `connect` trusts the same certificates without listing them.
 */
class PlainTlsAgent extends TlsAgent {
  override createConnection(options: ConnectionOptions) {
    return connect(options);
  }
}

export interface PostOnceOptions {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  agent: Agent;
  lookup: LookupFunction;
  isAllowed: (address: string) => boolean;
  ca?: string;
  signal: AbortSignal;
}

export interface PostResponse {
  status: number;
  /** As much of the body as was read. */
  body: Uint8Array;
}

/** The request failed before a response arrived. */
export class NoResponse extends Error {
  override name = "NoResponse";
  constructor(cause: unknown, readonly isConnectionReused: boolean) {
    super("no response", { cause });
  }
}

/** A body up to this size is read to its end, because then the connection can be reused. */
const MAX_BODY_BYTES = 16_384;

/** How long the body is read. A timeout here is no failure: only the status decides on success. */
const BODY_MS = 2_000;

/** Throws `NoResponse` if the request fails before a response arrives. */
export function postOnce(
  { url, headers, body, isAllowed, ...options }: PostOnceOptions,
): Promise<PostResponse> {
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === "https:";
    let reading: ReturnType<typeof read> | null = null;
    let isConnectionReused = false;
    const request = (isTls ? requestHttps : requestHttp)({
      ...options,
      method: "POST",
      hostname: hostOf(url),
      port: url.port,
      path: url.pathname + url.search,
      headers: { ...headers, "Host": url.host, "Content-Length": body.length },
    });

    /** Sends the request only if the address of the connection is allowed. */
    function send() {
      if (isAllowed(request.socket?.remoteAddress ?? "")) request.end(body);
      else request.destroy(new AddressNotPublic(url.hostname));
    }

    function end(error?: Error) {
      if (!reading) return reject(new NoResponse(error, isConnectionReused));
      reading.stop();
      resolve({ status: reading.status, body: reading.body() });
    }

    request.on("socket", (socket) => {
      isConnectionReused = request.reusedSocket;
      // Otherwise Deno sends the request again by itself when the connection closes, even if this
      // code closes it after the timeout (denoland/deno#36786).
      request.reusedSocket = false;
      if (isConnectionReused) send();
      else socket.once(isTls ? "secureConnect" : "connect", send);
    });
    request.on("response", (response) => {
      reading = read(response, () => request.destroy());
      response.on("end", end);
    });
    request.on("error", end);
    // For a response that switches protocols this is the only event; otherwise it is the last one.
    request.on("close", end);
  });
}

function read(response: IncomingMessage, abort: () => void) {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const timer = setTimeout(abort, BODY_MS);
  response.on("data", (chunk: Uint8Array) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BODY_BYTES) abort();
  });
  // The body was cut off: the part that has arrived is used.
  response.on("error", abort);
  return {
    status: response.statusCode ?? 0,
    body: () => Buffer.concat(chunks),
    stop: () => clearTimeout(timer),
  };
}

/** The code of an error of the system or of TLS, such as `ECONNRESET`; empty if it has none. */
export function systemErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
