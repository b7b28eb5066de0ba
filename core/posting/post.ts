/** Posts webhooks to registered URLs, but to private addresses only if that is allowed. */

import {
  AddressNotPublic,
  guardedLookup,
  HostNotResolved,
  isPublic,
  type ResolveHost,
  resolveHost,
} from "./addresses.ts";
import {
  NoResponse,
  openConnections,
  postOnce,
  type PostResponse,
  systemErrorCode,
} from "./post_once.ts";

export interface PosterOptions {
  /** Also posts to http URLs and private addresses. */
  allowPrivate: boolean;
  resolve?: ResolveHost;
  /** The time limit for the whole request, from the DNS lookup to the response. */
  timeoutMs?: number;
  /** How long a connection is kept for further requests. */
  idleMs?: number;
  /** A certificate in PEM that is trusted in addition to the system's. */
  ca?: string;
}

export interface Post {
  url: string;
  headers: Record<string, string>;
  /** Sent unchanged: the signature covers exactly these bytes. */
  body: Uint8Array;
}

export interface PostResult {
  /** Null if there was no response; `error` then says why. */
  status_code: number | null;
  /** The beginning of the response body. The API and the table of deliveries use this name. */
  answer: string | null;
  error: string | null;
  duration_ms: number;
}

/** Disposing aborts the running requests. */
export interface Poster extends AsyncDisposable {
  /** Also returns a result if the receiver fails. Throws `PostAborted` if this service aborts. */
  post(post: Post, signal?: AbortSignal): Promise<PostResult>;
}

const TIMEOUT_MS = 15_000;

/** Shorter than in most servers: this side closes idle connections first. */
const IDLE_MS = 4_000;

const MAX_IDLE_CONNECTIONS = 16;

const ANSWER_BYTES = 1_000;

export function createPoster(options: PosterOptions): Poster {
  const { allowPrivate, resolve = resolveHost, timeoutMs = TIMEOUT_MS, ca } = options;
  const { idleMs = IDLE_MS } = options;
  const isAllowed = allowPrivate ? () => true : isPublic;
  const findAddresses = guardedLookup(resolve, isAllowed);
  const keepAlive = { keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS, timeout: idleMs };
  const plain = openConnections("http:", keepAlive);
  const encrypted = openConnections("https:", keepAlive);
  const closing = new AbortController();
  const running = new Set<Promise<PostResult>>();

  async function tryPost(post: Post, signal: AbortSignal): Promise<PostResponse> {
    const url = new URL(post.url);
    // The endpoint may have been registered while http was allowed.
    if (url.protocol !== "https:" && !allowPrivate) throw new NotEncrypted();
    const headers = {
      ...post.headers,
      "Content-Type": "application/json",
      "User-Agent": "payment-gateway-webhooks/1.0",
    };
    const request = { url, headers, body: post.body, findAddresses, isAllowed, ca, signal };
    try {
      return await postOnce({ ...request, agent: url.protocol === "https:" ? encrypted : plain });
    } catch (error) {
      if (!isStaleConnection(error) || signal.aborted) throw error;
      return await postOnce({
        ...request,
        agent: openConnections(url.protocol, { keepAlive: false }),
      });
    }
  }

  async function run(post: Post, signal?: AbortSignal): Promise<PostResult> {
    const startedAt = performance.now();
    using limit = startLimit(timeoutMs, [closing.signal, ...signal ? [signal] : []]);
    const tried = await tryPost(post, limit.signal).then(
      ({ status, body }) => ({ status_code: status, answer: beginningOf(body), error: null }),
      (error) => {
        limit.throwIfAborted();
        return { status_code: null, answer: null, error: limit.problem() ?? problemOf(error) };
      },
    );
    return { ...tried, duration_ms: Math.round(performance.now() - startedAt) };
  }

  return {
    async post(post, signal) {
      const posting = run(post, signal);
      running.add(posting);
      try {
        return await posting;
      } finally {
        running.delete(posting);
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.allSettled(running);
      plain.destroy();
      encrypted.destroy();
    },
  };
}

/** This service aborted the request, so the failure says nothing about the receiver. */
export class PostAborted extends Error {
  override name = "PostAborted";
}

class NotEncrypted extends Error {
  override name = "NotEncrypted";
}

function startLimit(timeoutMs: number, signals: AbortSignal[]) {
  const limit = new AbortController();
  let problem: string | null = null;
  const timer = setTimeout(() => {
    problem = `No response within ${timeoutMs / 1000} s`;
    limit.abort();
  }, timeoutMs);
  const onAbort = () => limit.abort();
  for (const signal of signals) {
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
  }
  return {
    signal: limit.signal,
    /** The error text if the time is up; otherwise null. */
    problem: () => problem,
    throwIfAborted() {
      if (limit.signal.aborted && problem === null) throw new PostAborted("The post was aborted");
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
    },
  };
}

/** The receiver closed a kept-alive connection at the moment it was reused. */
function isStaleConnection(error: unknown): boolean {
  return error instanceof NoResponse && error.isConnectionReused &&
    ["ECONNRESET", "EPIPE"].includes(systemErrorCode(error.cause));
}

/** Decodes any bytes to text that PostgreSQL can store. */
function beginningOf(body: Uint8Array): string | null {
  const isCut = body.length > ANSWER_BYTES;
  // `stream` drops an incomplete character at the end.
  const text = new TextDecoder().decode(body.subarray(0, ANSWER_BYTES), { stream: isCut });
  return text.replaceAll("\0", "") || null;
}

const CLOSED = "The connection was closed before a response arrived";
const UNREACHABLE = "The host is unreachable";

const PROBLEMS: Record<string, string> = {
  ECONNREFUSED: "The connection was refused",
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ETIMEDOUT: UNREACHABLE,
};

/**
 * Why there was no response, for staff. Uses messages of certificate errors only: others may
 * contain the URL, which can contain a secret.
 */
function problemOf(thrown: unknown): string {
  if (thrown instanceof NotEncrypted) return "Only https URLs are allowed";
  const error = thrown instanceof NoResponse ? thrown.cause : thrown;
  if (error instanceof AddressNotPublic) return "The host resolves to a private address";
  if (error instanceof HostNotResolved) return "The host name does not resolve";
  const code = systemErrorCode(error);
  if (PROBLEMS[code]) return PROBLEMS[code];
  if (code.startsWith("HPE_")) return "The response is not valid HTTP";
  const message = error instanceof Error ? printable(error.message) : "";
  if (/CERT|ISSUER|SIGNATURE/.test(code) || /certificate/i.test(message)) {
    return `The certificate is not valid: ${message}`;
  }
  if (/SSL|TLS/.test(code)) return "The TLS handshake failed";
  return code ? `The connection failed: ${code}` : "The connection failed";
}

const MAX_MESSAGE_LENGTH = 200;

/** The owner of a certificate can put any text into it. */
function printable(text: string): string {
  const line = text.replace(/[\p{C}\s]+/gu, " ");
  return line.length > MAX_MESSAGE_LENGTH ? `${line.slice(0, MAX_MESSAGE_LENGTH)}…` : line;
}
