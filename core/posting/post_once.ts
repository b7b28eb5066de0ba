/** One POST on one connection: no redirects, and a bounded response. */

import { Buffer } from "node:buffer";
import { once } from "node:events";
import { Agent, type AgentOptions, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as TlsAgent, request as requestHttps } from "node:https";
import { connect as connectTcp, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions as TlsOptions } from "node:tls";
import { unlessAborted } from "../../concurrency/deadlines.ts";
import { AddressNotPublic, type FindAddresses, hostOf } from "./addresses.ts";

/** Creates the connection pool for `http:` or `https:`. */
export function openConnections(protocol: string, options: AgentOptions): Agent {
  const isTls = protocol === "https:";
  const agent = isTls ? new TlsAgent(options) : new Agent(options);
  const createConnection = (request: NewConnection, callback: OnConnection) => {
    openConnection(request, isTls).then((socket) => callback(null, socket), callback);
  };
  return Object.assign(agent, { createConnection });
}

/** The options of the request, as the agent passes them on. */
interface NewConnection extends TlsOptions {
  host: string;
  port: number;
  findAddresses: FindAddresses;
  /** The agent does not pass on the option `signal`. */
  openingSignal: AbortSignal;
}

type OnConnection = (error: Error | null, socket?: Socket) => void;

/**
 * Resolves the host, then connects, then encrypts. Deno never frees a socket if the lookup of its
 * host fails, nor a TLS socket if its connection fails. So each is created only when the step
 * before it has succeeded.
 *
 * If NODE_EXTRA_CA_CERTS is set, Deno's own agent first lists all trusted certificates. The service
 * has no permission for that. `connectTls` trusts the same certificates without listing them.
 */
async function openConnection(options: NewConnection, isTls: boolean): Promise<Socket> {
  const { host, port, openingSignal: signal } = options;
  const addresses = await unlessAborted(options.findAddresses(host), signal);
  const lookup: LookupFunction = (_host, { all }, callback) => {
    const { address, family } = addresses[0]!;
    if (all) callback(null, addresses);
    else callback(null, address, family);
  };
  const socket = await whenOpen(connectTcp({ host, port, lookup }), "connect", signal);
  if (!isTls) return socket;
  return await whenOpen(connectTls({ ...options, socket }), "secureConnect", signal);
}

async function whenOpen(socket: Socket, event: string, signal: AbortSignal): Promise<Socket> {
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

export interface PostOnceOptions {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  agent: Agent;
  findAddresses: FindAddresses;
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
    let reading: ReturnType<typeof read> | null = null;
    let isConnectionReused = false;
    const requestOptions = {
      ...options,
      openingSignal: options.signal,
      method: "POST",
      hostname: hostOf(url),
      port: url.port,
      path: url.pathname + url.search,
      headers: { ...headers, "Host": url.host, "Content-Length": body.length },
    };
    const request = url.protocol === "https:"
      ? requestHttps(requestOptions)
      : requestHttp(requestOptions);

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

    request.on("socket", () => {
      isConnectionReused = request.reusedSocket;
      // Otherwise Deno sends the request again by itself when the connection closes, even if this
      // code closes it after the timeout (denoland/deno#36786).
      request.reusedSocket = false;
      send();
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
