/**
 * Finds the server that accepts writes, if a database URL names several servers. The driver gets
 * the URL of that server only: with several, it would connect to standbys, and it would try again
 * without a pause and without an error while no server accepts connections.
 */

import postgres from "postgres";
import { setTimeout as delay } from "node:timers/promises";
import { waitAtMost } from "../../concurrency/deadlines.ts";
import { type Client, openClient } from "./client.ts";
import { DatabaseUnavailable } from "./errors.ts";
import { serverUrls, withoutSecrets } from "./server_urls.ts";

export interface Primary {
  /** The URL of this server alone. */
  url: string;
  /** Aborted when another server is found to be the primary. */
  replaced: AbortSignal;
}

/** A server that accepts writes. */
interface Writable {
  url: string;
  /**
   * The number that PostgreSQL raises at each promotion. A former primary that does not know of the
   * promotion may still accept writes; its timeline is lower.
   */
  timeline: number;
}

interface Cluster {
  primary: { server: Writable; replace: AbortController } | null;
  search: Promise<Primary> | null;
}

/** What this process knows about the servers of each URL. All connections share it. */
const clusters = new Map<string, Cluster>();

/** Shorter than the deadline of calls, so that a call fails with the reason. */
const SEARCH_MS = 1_500;

/** The pause before a server that accepts no writes is asked again. */
const RETRY_MS = 200;

const NEVER = new AbortController().signal;

/**
 * Waits a moment for a primary, because a failover may be in progress. If the URL names one server,
 * it is returned without a connection to it.
 */
export async function findPrimary(url: string): Promise<Primary> {
  const urls = serverUrls(url);
  if (urls.length === 1) return { url, replaced: NEVER };
  const cluster = clusters.get(url) ?? { primary: null, search: null };
  clusters.set(url, cluster);
  cluster.search ??= search(urls, cluster).finally(() => cluster.search = null);
  return await cluster.search;
}

async function search(urls: string[], cluster: Cluster): Promise<Primary> {
  const end = performance.now() + SEARCH_MS;
  const found: Writable[] = [];
  /** The last error of each server. */
  const errors = new Map<string, unknown>();
  let isOver = false;

  /** Asks a server once; true: it accepts writes. */
  async function tryServer(url: string): Promise<boolean> {
    try {
      found.push(await requireWritable(url, cluster.primary?.server.timeline ?? 0));
      return true;
    } catch (error) {
      errors.set(url, error);
      return false;
    }
  }

  /** Asks a server again until it accepts writes. Throws its last error when the search ends. */
  async function retryServer(url: string, firstTry: Promise<boolean>): Promise<void> {
    for (let isWritable = await firstTry; !isWritable; isWritable = await tryServer(url)) {
      if (isOver || performance.now() + RETRY_MS > end) throw errors.get(url);
      await delay(RETRY_MS);
    }
  }

  // Wait for one response of every server, because a former primary can be nearer and respond
  // first. A server that does not respond delays only this search, by SEARCH_MS at most.
  const firstTries = urls.map(tryServer);
  const tries = urls.map((url, index) => retryServer(url, firstTries[index]!));
  await waitAtMost(SEARCH_MS, Promise.any(tries).catch(() => {}));
  await waitAtMost(Math.max(0, end - performance.now()), Promise.all(firstTries));
  isOver = true;
  const [newest] = found.toSorted((a, b) => b.timeline - a.timeline);
  if (!newest) {
    throw mostSpecificError([...errors.values()]) ?? new DatabaseUnavailable("No server responds");
  }
  return setPrimary(newest, cluster);
}

/** What a server reports, such as a wrong password, says more than a server without a response. */
function mostSpecificError(errors: unknown[]): unknown {
  return errors.find((error) => error instanceof postgres.PostgresError) ??
    errors.find((error) => error instanceof DatabaseUnavailable) ?? errors[0];
}

function setPrimary(server: Writable, cluster: Cluster): Primary {
  const known = cluster.primary;
  if (known?.server.url === server.url) known.server = server;
  else {
    cluster.primary = { server, replace: new AbortController() };
    known?.replace.abort();
  }
  return { url: server.url, replaced: cluster.primary!.replace.signal };
}

/** Throws if the server accepts no writes, or is a former primary. */
async function requireWritable(url: string, newestTimeline: number): Promise<Writable> {
  await using client = openClient(url);
  const [state] = await client.run(
    "select current_setting('transaction_read_only') = 'on' as is_read_only",
  );
  const host = withoutSecrets(url);
  if (state!.is_read_only) {
    throw new DatabaseUnavailable(`${host} is a standby or read-only, and accepts no writes`);
  }
  const timeline = await readTimeline(client);
  if (timeline < newestTimeline) {
    throw new DatabaseUnavailable(
      `${host} is a former primary: it is on timeline ${timeline}, and another server was on ` +
        `timeline ${newestTimeline}. If this is a new cluster, restart the service`,
    );
  }
  return { url, timeline };
}

/** The SQLSTATEs of a function that a managed service lacks, forbids or does not support. */
const NO_FUNCTION = /^(42883|42501|0A000)$/;

/** 0: the server does not say it. */
async function readTimeline(client: Client): Promise<number> {
  try {
    const [row] = await client.run(
      "select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline",
    );
    return row!.timeline;
  } catch (error) {
    if (error instanceof postgres.PostgresError && NO_FUNCTION.test(error.code)) return 0;
    throw error;
  }
}
