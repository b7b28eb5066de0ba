/** An answer that is the same for everybody: made once, compressed once, told apart by its tag. */

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context } from "hono";

export interface FixedAnswerOptions {
  contentType: string;
  cacheControl: string;
  /** Asked for at the first request only, and again only where it failed. */
  text: () => string | Promise<string>;
}

type Encoding = "gzip" | "identity";

interface Form {
  bytes: Uint8Array<ArrayBuffer>;
  headers: Record<string, string>;
}

/**
 * Compressed by gzip or not at all: brotli would make the document a sixth smaller, and a third form
 * to keep and to test.
 */
export function createFixedAnswer(options: FixedAnswerOptions): (c: Context) => Promise<Response> {
  const forms = new Map<Encoding, Promise<Form>>();

  function formOf(encoding: Encoding): Promise<Form> {
    const known = forms.get(encoding);
    if (known) return known;
    const form = makeForm(encoding, options);
    forms.set(encoding, form);
    form.catch(() => forms.delete(encoding));
    return form;
  }

  return async function answer(c) {
    const takesGzip = accepts(c.req.header("accept-encoding"), "gzip");
    const { bytes, headers } = await formOf(takesGzip ? "gzip" : "identity");
    return isKnown(c.req.header("if-none-match"), headers.ETag!)
      ? c.body(null, 304, headers)
      : c.body(bytes, 200, {
        ...headers,
        "Content-Type": options.contentType,
        // Said here so that HEAD says it, too.
        "Content-Length": String(bytes.length),
        ...takesGzip && { "Content-Encoding": "gzip" },
      });
  };
}

/** What goes over the wire, and a tag of just these bytes, so that it is strong in each encoding. */
async function makeForm(
  encoding: Encoding,
  { text, cacheControl }: FixedAnswerOptions,
): Promise<Form> {
  const plain = new TextEncoder().encode(await text());
  const bytes = encoding === "gzip"
    ? new Uint8Array(await promisify(gzip)(plain, { level: 9 }))
    : plain;
  const tag = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
  return {
    bytes,
    headers: { ETag: `"${tag}"`, Vary: "Accept-Encoding", "Cache-Control": cacheControl },
  };
}

/** Whoever does not say that it can read an encoding is not sent it. */
function accepts(header: string | undefined, encoding: Encoding): boolean {
  const weights = new Map(
    (header ?? "").toLowerCase().split(",").map((part) => {
      const [name, ...parameters] = part.split(";").map((each) => each.trim());
      const weight = parameters.find((each) => each.startsWith("q="))?.slice(2);
      return [name!, weight === undefined ? 1 : Number(weight)];
    }),
  );
  return (weights.get(encoding) ?? weights.get("*") ?? 0) > 0;
}

/** A cache on the way may have called the tag weak: for a GET it is the same. */
function isKnown(header: string | undefined, tag: string): boolean {
  const known = (header ?? "").split(",").map((each) => each.trim().replace(/^W\//, ""));
  return known.includes(tag) || known.includes("*");
}
