/** Structured logs: one JSON object a line, written in batches, secrets blotted out. */

import { redact } from "./redact.ts";

export interface Log {
  /** `fields` are trusted to hold no secret: what a caller may have shaped goes through `redact`. */
  info(event: string, fields?: Record<string, unknown>): void;
  error(event: string, error: unknown, fields?: Record<string, unknown>): void;
  /** The one line a request leaves. */
  request(entry: RequestEntry): void;
  /** Writes out what is still in the batch. */
  flush(): void;
}

export interface RequestEntry {
  method: string;
  route: string | null;
  status: number;
  durationMs: number;
  caller: string | null;
  requestId: string;
}

/** Lines wait this long for company: under load, a system call each would cost more than requests. */
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

  /** Formatting a time is the dearest part of a line, and under load many lines share one. */
  function timestamp(): string {
    const at = now();
    if (at !== latest.at) latest = { at, text: new Date(at).toISOString() };
    return latest.text;
  }

  return {
    info: (event, fields = {}) => line("info", event, fields),
    error: (event, error, fields = {}) =>
      line("error", event, { ...fields, error: describe(error) }),
    request: ({ method, route, status, durationMs, caller, requestId }) =>
      // By hand, since this is written for every request; only these two can need escaping.
      add(
        `{"time":"${timestamp()}","level":"info","event":"request","method":"${method}","route":${
          JSON.stringify(route)
        },"status":${status},"duration_ms":${durationMs},"caller":${
          JSON.stringify(caller)
        },"request_id":"${requestId}"}\n`,
      ),
    flush,
  };
}

/** Chains of causes are short; one that is not goes in circles. */
const MAX_DEPTH = 5;

/** Members by which errors of the database and the system tell more. */
const TELLING = [
  "code",
  "detail",
  "constraint_name",
  "table_name",
  "column_name",
  "where",
] as const;

/** Everything an engineer needs of an error, down its chain of causes. */
function describe(error: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return "…";
  if (!(error instanceof Error)) return { message: redact(String(error)) };
  const members = error as Error & Record<string, unknown>;
  const telling = TELLING.flatMap((name) =>
    members[name] === undefined ? [] : [[name, redact(String(members[name]))]]
  );
  return {
    name: error.name,
    message: redact(error.message),
    ...Object.fromEntries(telling),
    stack: redact(error.stack ?? ""),
    errors: error instanceof AggregateError
      ? error.errors.map((each) => describe(each, depth + 1))
      : undefined,
    cause: error.cause === undefined ? undefined : describe(error.cause, depth + 1),
  };
}
