/**
 * The body of an export: reads one page after the other, each when the reader has taken the
 * previous one. Between two pages it holds no connection of the pool and no transaction.
 */

import type { Caller } from "../auth/caller.ts";
import { findEnded } from "../auth/ended_credentials.ts";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import type { Log } from "../telemetry/log.ts";
import type { FileFormat, Rows } from "./file_format.ts";

/** How many rows are read at a time and held in memory. */
export const EXPORT_PAGE = 500;

/** An export that the reader does not read for this long is aborted. */
const MAX_STALL_MS = 60_000;

/** The longest time of an export. */
const MAX_EXPORT_MS = 60 * 60_000;

export interface ExportLimits {
  perCaller: number;
  total: number;
  stallMs: number;
}

const DEFAULT_LIMITS: ExportLimits = { perCaller: 3, total: 20, stallMs: MAX_STALL_MS };

/** When to retry if too many exports are open. */
const RETRY_SECONDS = 10;

export interface ExportPage<Cursor> {
  rows: Rows;
  /** Null on the last page. */
  next: Cursor | null;
}

export interface ExportSource<Cursor> {
  columns: readonly string[];
  readPage(after: Cursor | null): Promise<ExportPage<Cursor>>;
}

export interface Exports {
  /** Reads the first page before it returns, so that an invalid filter gets an error response. */
  open<Cursor>(
    caller: Caller,
    source: ExportSource<Cursor>,
    format: FileFormat,
  ): Promise<ReadableStream<Uint8Array>>;
  /** Throws if the caller cannot open another export now. */
  admit(caller: Caller): void;
}

export function createExports(
  service: Service,
  { perCaller, total, stallMs }: ExportLimits = DEFAULT_LIMITS,
): Exports {
  const { log } = service;
  /** The users of the open exports. */
  const open = new Map<symbol, string>();

  function admit({ userId }: Caller): void {
    const own = [...open.values()].filter((each) => each === userId).length;
    if (own < perCaller && open.size < total) return;
    throw new ServiceError("rate_limited", {
      detail: own >= perCaller
        ? `You have ${own} open exports, and the limit is ${perCaller}. Wait until one has ended.`
        : `The service has no room for more exports. Retry in ${RETRY_SECONDS} s.`,
      headers: {
        "Retry-After": String(RETRY_SECONDS),
        "RateLimit": `"exports";r=0;t=${RETRY_SECONDS}`,
        "RateLimit-Policy": `"exports";q=${perCaller}`,
      },
    });
  }

  return {
    admit,
    async open(caller, source, format) {
      admit(caller);
      const id = Symbol();
      open.set(id, caller.userId);
      const close = () => void open.delete(id);
      try {
        const first = await source.readPage(null);
        const checked: typeof source = {
          ...source,
          async readPage(after) {
            await requireValid(service, caller);
            return await source.readPage(after);
          },
        };
        const chunks = format.write(source.columns, readPages(checked, first));
        return streamChunks(chunks, { stallMs, log, onClosed: close });
      } catch (error) {
        close();
        throw error;
      }
    },
  };
}

/** Before each further page: the credential can be revoked, end or expire during an export. */
async function requireValid(service: Service, caller: Caller): Promise<void> {
  const reason = (await findEnded(service, [caller], "check key of export")).get(caller);
  if (reason !== undefined) throw new Error(`The export was aborted, because ${reason}`);
}

interface StreamOptions {
  stallMs: number;
  log: Log;
  onClosed(): void;
}

function streamChunks(
  chunks: AsyncGenerator<Uint8Array, void>,
  { stallMs, log, onClosed }: StreamOptions,
): ReadableStream<Uint8Array> {
  const endsAt = performance.now() + MAX_EXPORT_MS;
  let isEnded = false;
  let stalled: ReturnType<typeof setTimeout> | undefined;

  function end() {
    isEnded = true;
    clearTimeout(stalled);
    onClosed();
    // Ends what still writes the file.
    chunks.return().catch(() => {});
  }

  /** Makes the server reset the connection, so the reader notices that the file is incomplete. */
  function fail(controller: ReadableStreamDefaultController, error: unknown) {
    // The reader has disconnected meanwhile.
    if (isEnded) return;
    end();
    log.error("export_failed", error);
    // A string: the server prints the reason, and would print an `Error` with its stack.
    controller.error("Export aborted");
  }

  function awaitReader(controller: ReadableStreamDefaultController) {
    stalled = setTimeout(
      () => fail(controller, new Error(`The reader has read nothing for ${stallMs} ms`)),
      stallMs,
    );
  }

  return new ReadableStream<Uint8Array>({
    start: awaitReader,
    async pull(controller) {
      clearTimeout(stalled);
      try {
        if (performance.now() > endsAt) throw new Error("The export took longer than an hour");
        const { value, done } = await chunks.next();
        if (isEnded) return;
        if (done) {
          end();
          controller.close();
        } else {
          controller.enqueue(value);
          awaitReader(controller);
        }
      } catch (error) {
        fail(controller, error);
      }
    },
    cancel: end,
    // The stream reads no page ahead of its reader.
  }, { highWaterMark: 0 });
}

async function* readPages<Cursor>(
  { readPage }: ExportSource<Cursor>,
  first: ExportPage<Cursor>,
): AsyncGenerator<Rows, void> {
  for (let page = first;; page = await readPage(page.next)) {
    // A page can be empty although more pages follow.
    if (page.rows.length > 0) yield page.rows;
    if (page.next === null) return;
  }
}
