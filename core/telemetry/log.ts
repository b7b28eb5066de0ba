/** Structured logs: one JSON object per line, in batches. Secrets in errors are redacted. */

import { redact } from "../secrets/redact.ts";

export interface Log {
  /** `fields` are not redacted: call `redact` first for text that a caller can influence. */
  info(event: string, fields?: Record<string, unknown>): void;
  /** Written once a second for each kind of error; the next line says how often it was repeated. */
  error(event: string, error: unknown, fields?: Record<string, unknown>): void;
  /** Logs one finished HTTP request. */
  request(entry: RequestEntry): void;
  /** Writes the current batch at once, and how many errors were omitted. */
  flush(): void;
}

export interface RequestEntry {
  method: string;
  route: string | null;
  status: number;
  durationMs: number;
  caller: string | null;
  requestId: string;
  /** If the response is a problem: its code and the ids of the records it names. */
  problem: Record<string, unknown> | null;
}

/** Errors of one kind are written once in this time; an outage would fill the disk otherwise. */
const REPEAT_MS = 1_000;

/** Lines are collected this long: a system call per line can take longer than the request. */
const BATCH_MS = 25;

export function createLog(write: (text: string) => void, now: () => number = Date.now): Log {
  let batch = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = { at: NaN, text: "" };
  /** The errors since `at`, by kind, and how often each was omitted. */
  let recent = { at: -Infinity, omitted: new Map<string, Omitted>() };

  function writeBatch() {
    clearTimeout(timer);
    timer = undefined;
    const text = batch;
    batch = "";
    if (text) write(text);
  }

  function add(line: string) {
    batch += line;
    timer ??= setTimeout(writeBatch, BATCH_MS);
  }

  function line(level: string, event: string, fields: Record<string, unknown>) {
    add(JSON.stringify({ time: timestamp(), level, event, ...fields }) + "\n");
  }

  function error(event: string, error: unknown, fields: Record<string, unknown> = {}) {
    if (now() - recent.at >= REPEAT_MS) startPeriod();
    const named = namedFields(fields);
    const same = JSON.stringify([event, String(error), named]);
    const repeated = recent.omitted.get(same);
    if (repeated) repeated.count++;
    else {
      recent.omitted.set(same, { event, named, count: 0 });
      line("error", event, { ...fields, error: describe(error) });
    }
  }

  /** Reports the errors that were omitted. */
  function startPeriod() {
    for (const { event, named, count } of recent.omitted.values()) {
      if (count > 0) line("error", event, { ...named, repeated: count });
    }
    recent = { at: now(), omitted: new Map() };
  }

  /**
   * Cached: formatting is the slowest part of a line, and under load many lines share a timestamp.
   */
  function timestamp(): string {
    const at = now();
    if (at !== latest.at) latest = { at, text: new Date(at).toISOString() };
    return latest.text;
  }

  return {
    info: (event, fields = {}) => line("info", event, fields),
    error,
    request: (entry) => add(requestLine(timestamp(), entry)),
    flush() {
      startPeriod();
      writeBatch();
    },
  };
}

/** Built by hand for speed, once per request. Only `route` and `caller` can need escaping. */
function requestLine(time: string, entry: RequestEntry): string {
  const { method, status, durationMs, requestId, problem } = entry;
  const route = JSON.stringify(entry.route);
  const caller = JSON.stringify(entry.caller);
  const members = problem ? `,${JSON.stringify(problem).slice(1, -1)}` : "";
  return `{"time":"${time}","level":"info","event":"request","method":"${method}",` +
    `"route":${route},"status":${status},"duration_ms":${durationMs},"caller":${caller},` +
    `"request_id":"${requestId}"${members}}\n`;
}

/** Errors of one kind, of which only the first is written. */
interface Omitted {
  event: string;
  named: Record<string, unknown>;
  count: number;
}

/**
 * Errors of one kind say the same, about the same records. Requests differ in their id only, and
 * each has its own line with this id.
 */
function namedFields(fields: Record<string, unknown>): Record<string, unknown> {
  const { request_id: _, duration_ms: __, ...named } = fields;
  return named;
}

/** Chains of causes are short; a longer chain is circular. */
const MAX_DEPTH = 5;

/** Details that errors of PostgreSQL and of the system have. */
const DETAIL_FIELDS = [
  "code",
  "detail",
  "constraint_name",
  "table_name",
  "column_name",
  "where",
] as const;

/** The error and its chain of causes, redacted. */
function describe(error: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return "…";
  if (!(error instanceof Error)) return { message: redact(String(error)) };
  const fields = error as Error & Record<string, unknown>;
  const details = DETAIL_FIELDS.flatMap((name) =>
    fields[name] === undefined ? [] : [[name, redact(String(fields[name]))]]
  );
  return {
    name: error.name,
    message: redact(error.message),
    ...Object.fromEntries(details),
    stack: redact(error.stack ?? ""),
    errors: error instanceof AggregateError
      ? error.errors.map((each) => describe(each, depth + 1))
      : undefined,
    cause: error.cause === undefined ? undefined : describe(error.cause, depth + 1),
  };
}
