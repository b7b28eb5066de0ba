/** Structured logs: one JSON object per line, in batches. Secrets in errors are redacted. */

import { redact } from "./redact.ts";

export interface Log {
  /** `fields` are not redacted: call `redact` first for text that a caller can influence. */
  info(event: string, fields?: Record<string, unknown>): void;
  error(event: string, error: unknown, fields?: Record<string, unknown>): void;
  /** Logs one finished HTTP request. */
  request(entry: RequestEntry): void;
  /** Writes the current batch at once. */
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

/** Lines are collected this long: a system call per line can take longer than the request. */
const BATCH_MS = 25;

export function createLog(write: (text: string) => void, now: () => number = Date.now): Log {
  let batch = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = { at: NaN, text: "" };

  function flush() {
    clearTimeout(timer);
    timer = undefined;
    const text = batch;
    batch = "";
    if (text) write(text);
  }

  function add(line: string) {
    batch += line;
    timer ??= setTimeout(flush, BATCH_MS);
  }

  function line(level: string, event: string, fields: Record<string, unknown>) {
    add(JSON.stringify({ time: timestamp(), level, event, ...fields }) + "\n");
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
    error: (event, error, fields = {}) =>
      line("error", event, { ...fields, error: describe(error) }),
    request: ({ method, route, status, durationMs, caller, requestId, problem }) =>
      // Built by hand for speed, once per request. Only `route` and `caller` can need escaping.
      add(
        `{"time":"${timestamp()}","level":"info","event":"request","method":"${method}","route":${
          JSON.stringify(route)
        },"status":${status},"duration_ms":${durationMs},"caller":${
          JSON.stringify(caller)
        },"request_id":"${requestId}"${
          problem ? `,${JSON.stringify(problem).slice(1, -1)}` : ""
        }}\n`,
      ),
    flush,
  };
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
