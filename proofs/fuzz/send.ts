/** Sends requests, and writes them as `curl` commands. */

import { type Answer } from "./judge.ts";
import { type FuzzRequest, type Role, urlOf } from "./requests.ts";

export interface Sender {
  url: string;
  keys: Record<Role, string | null>;
}

/** Far longer than the service needs: what takes longer counts as no answer. */
const TIMEOUT_MS = 120_000;

/** How much of a stream or an export is read, and for how long. */
const READ_BYTES = 64 * 1024;
const READ_MS = 200;

/** Longer bodies are not in the command: no terminal shows them. */
const MAX_BODY = 4_000;

export async function send({ url, keys }: Sender, request: FuzzRequest): Promise<Answer> {
  const { method, headers, body, role } = request;
  const begin = performance.now();
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(new Error("timeout")), TIMEOUT_MS);
  try {
    const response = await fetch(url + urlOf(request), {
      method,
      headers: { ...headers, ...keys[role] && { Authorization: `Bearer ${keys[role]}` } },
      body,
      redirect: "manual",
      signal: end.signal,
    });
    const { status, headers: received } = response;
    const isLong = /event-stream|csv/.test(received.get("Content-Type") ?? "");
    // A stream ends only because it is cancelled here, so that its time is that of its first bytes.
    const firstMs = performance.now() - begin;
    const text = isLong ? await readBeginning(response) : await response.text();
    const ms = isLong ? firstMs : performance.now() - begin;
    return { status, headers: received, text, ms };
  } catch (error) {
    const text = `${(error as Error).message}`.replaceAll(url, "");
    return { status: 0, headers: new Headers(), text, ms: performance.now() - begin };
  } finally {
    clearTimeout(timer);
  }
}

async function readBeginning(response: Response): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const timer = setTimeout(() => reader.cancel(), READ_MS);
  let text = "";
  while (text.length < READ_BYTES) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  clearTimeout(timer);
  await reader.cancel();
  return text;
}

/** For a shell in which `URL` and a variable for each role, such as `STAFF`, are set. */
export function curlOf(request: FuzzRequest): string {
  const { method, headers, body, role } = request;
  const parts = [`curl -sS -g -X ${method} "$URL"${quote(urlOf(request))}`];
  if (role !== "none") parts.push(`-H "Authorization: Bearer $${role.toUpperCase()}"`);
  for (const [name, value] of Object.entries(headers)) {
    // With a semicolon, curl sends a header without a value.
    parts.push(`-H ${quote(value === "" ? `${name};` : `${name}: ${value}`)}`);
  }
  return body === null ? parts.join(" ") : withBody(parts.join(" "), body);
}

function withBody(command: string, body: NonNullable<FuzzRequest["body"]>): string {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (text.length > MAX_BODY) {
    const beginning = quote(`${text.slice(0, 200)}…`);
    return `${command} --data-binary ${beginning} # the body has ${bytes.length} bytes`;
  }
  const isText = !text.includes("\u0000") && isSame(bytes, new TextEncoder().encode(text));
  if (isText) return `${command} --data-binary ${quote(text)}`;
  const escaped = [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  return `printf '${escaped}' | ${command} --data-binary @-`;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
