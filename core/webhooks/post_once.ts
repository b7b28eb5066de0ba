/** One POST on one connection: nothing is followed, and no answer is waited for without end. */

import { Buffer } from "node:buffer";
import { type Agent, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { NotPublic } from "./guarded_lookup.ts";
import { hostOf } from "./resolve_host.ts";

export interface OnePost {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  agent: Agent;
  lookup: LookupFunction;
  mayReach: (address: string) => boolean;
  ca?: string;
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  /** As much as came, and no more than anybody reads. */
  body: Uint8Array;
}

/** It came to nothing before there was an answer. */
export class NoAnswer extends Error {
  override name = "NoAnswer";
  constructor(cause: unknown, readonly onUsedConnection: boolean) {
    super("no answer", { cause });
  }
}

/** More is not read, and costs the connection: up to here it is read, so that it can be used again. */
const MAX_BODY_BYTES = 16_384;

/** The status is what counts. Whoever has said it has this long for the rest. */
const BODY_MS = 2_000;

/** Throws `NoAnswer`. */
export function postOnce({ url, headers, body, mayReach, ...options }: OnePost): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === "https:";
    let answer: ReturnType<typeof read> | null = null;
    let onUsedConnection = false;
    const request = (isTls ? requestHttps : requestHttp)({
      ...options,
      method: "POST",
      hostname: hostOf(url),
      port: url.port,
      path: url.pathname + url.search,
      headers: { ...headers, "Host": url.host, "Content-Length": body.length },
    });

    /** Not a byte leaves before it is clear who is at the other end. */
    function send() {
      if (mayReach(request.socket?.remoteAddress ?? "")) request.end(body);
      else request.destroy(new NotPublic(url.hostname));
    }

    function end(error?: Error) {
      if (!answer) return reject(new NoAnswer(error, onUsedConnection));
      answer.stop();
      resolve({ status: answer.status, body: answer.body() });
    }

    request.on("socket", (socket) => {
      onUsedConnection = request.reusedSocket;
      // Else, Deno would send it once more by itself when the connection closes, even if it is we who
      // close it because time is up (denoland/deno#36786).
      request.reusedSocket = false;
      if (onUsedConnection) send();
      else socket.once(isTls ? "secureConnect" : "connect", send);
    });
    request.on("response", (response) => {
      answer = read(response, () => request.destroy());
      response.on("end", end);
    });
    request.on("error", end);
    // After everything else, and also where there was no error: at an answer that changes protocols.
    request.on("close", end);
  });
}

function read(response: IncomingMessage, giveUp: () => void) {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const timer = setTimeout(giveUp, BODY_MS);
  response.on("data", (chunk: Uint8Array) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BODY_BYTES) giveUp();
  });
  // Cut off: what came is all there is.
  response.on("error", giveUp);
  return {
    status: response.statusCode ?? 0,
    body: () => Buffer.concat(chunks),
    stop: () => clearTimeout(timer),
  };
}
