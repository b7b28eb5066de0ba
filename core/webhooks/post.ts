/** Brings webhooks to addresses that others chose, and cannot be turned against our own network. */

import { isIP } from "node:net";
import { codeOf } from "../../db/database.ts";
import { openConnections } from "./connections.ts";
import { guardedLookup, NotPublic } from "./guarded_lookup.ts";
import { type Answer, NoAnswer, postOnce } from "./post_once.ts";
import { problemOf } from "./post_problem.ts";
import { isPublic } from "./public_address.ts";
import { hostOf, type ResolveHost, resolveHost } from "./resolve_host.ts";

export interface PosterOptions {
  /** Then http and private addresses are posted to, as well. */
  allowPrivate: boolean;
  resolve?: ResolveHost;
  /** For all of it, from the name to the answer. */
  timeoutMs?: number;
  /** A certificate, in PEM, that is trusted besides those that everybody trusts. */
  ca?: string;
}

export interface Post {
  url: string;
  headers: Record<string, string>;
  /** Sent as exactly these bytes: they are what is signed. */
  body: Uint8Array;
}

export interface Posted {
  /** Null where there was no answer; `error` then says why. */
  status_code: number | null;
  /** How the answer's body begins. */
  answer: string | null;
  error: string | null;
  duration_ms: number;
}

/** Disposed of, it gives up what is under way. */
export interface Poster extends AsyncDisposable {
  /** Whatever the other side does is an answer; only what we end ourselves throws `GivenUp`. */
  post(post: Post, signal?: AbortSignal): Promise<Posted>;
}

const TIMEOUT_MS = 15_000;

/** Shorter than most servers keep a connection: ours closes first, and no request meets its end. */
const KEPT = { keepAlive: true, maxFreeSockets: 16, timeout: 4_000 };

const ANSWER_BYTES = 1_000;

export function createPoster(options: PosterOptions): Poster {
  const { allowPrivate, resolve = resolveHost, timeoutMs = TIMEOUT_MS, ca } = options;
  const mayReach = allowPrivate ? () => true : isPublic;
  const lookup = guardedLookup(resolve, mayReach);
  const plain = openConnections("http:", KEPT);
  const encrypted = openConnections("https:", KEPT);
  const closing = new AbortController();
  const running = new Set<Promise<Posted>>();

  async function tryPost(post: Post, signal: AbortSignal): Promise<Answer> {
    const url = new URL(post.url);
    const host = hostOf(url);
    // It may have been registered when that was allowed.
    if (url.protocol !== "https:" && !allowPrivate) throw new NotEncrypted();
    // An address is not looked up, so nobody else would check it.
    if (isIP(host) && !mayReach(host)) throw new NotPublic(host);
    const headers = {
      ...post.headers,
      "Content-Type": "application/json",
      "User-Agent": "payment-gateway-webhooks/1.0",
    };
    const once = { url, headers, body: post.body, lookup, mayReach, ca, signal };
    try {
      return await postOnce({ ...once, agent: url.protocol === "https:" ? encrypted : plain });
    } catch (error) {
      if (!isStale(error) || signal.aborted) throw error;
      return await postOnce({
        ...once,
        agent: openConnections(url.protocol, { keepAlive: false }),
      });
    }
  }

  async function run(post: Post, signal?: AbortSignal): Promise<Posted> {
    const startedAt = performance.now();
    using limit = startLimit(timeoutMs, [closing.signal, ...signal ? [signal] : []]);
    const tried = await tryPost(post, limit.signal).then(
      ({ status, body }) => ({ status_code: status, answer: beginningOf(body), error: null }),
      (error) => {
        limit.throwIfGivenUp();
        return { status_code: null, answer: null, error: limit.problem() ?? wordsFor(error) };
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

/** By us: it says nothing about the other side. */
export class GivenUp extends Error {
  override name = "GivenUp";
}

class NotEncrypted extends Error {
  override name = "NotEncrypted";
}

function startLimit(timeoutMs: number, signals: AbortSignal[]) {
  const limit = new AbortController();
  let problem: string | null = null;
  const timer = setTimeout(() => {
    problem = `No answer within ${timeoutMs / 1000} s`;
    limit.abort();
  }, timeoutMs);
  const onAbort = () => limit.abort();
  for (const signal of signals) {
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
  }
  return {
    signal: limit.signal,
    problem: () => problem,
    throwIfGivenUp() {
      if (limit.signal.aborted && problem === null) throw new GivenUp("The attempt was given up");
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
    },
  };
}

/** The other side closed a connection that was kept for later, just as it was used again. */
function isStale(error: unknown): boolean {
  return error instanceof NoAnswer && error.onUsedConnection &&
    ["ECONNRESET", "EPIPE"].includes(codeOf(error.cause));
}

function wordsFor(error: unknown): string {
  if (error instanceof NotEncrypted) return "Only https is posted to";
  return problemOf(error instanceof NoAnswer ? error.cause : error);
}

/** Whatever it is, it becomes text that the database takes. */
function beginningOf(body: Uint8Array): string | null {
  const isCut = body.length > ANSWER_BYTES;
  // Within a stream, half a character at the end is left out.
  const text = new TextDecoder().decode(body.subarray(0, ANSWER_BYTES), { stream: isCut });
  return text.replaceAll("\0", "") || null;
}
