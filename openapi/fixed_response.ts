/** A response that never changes: built and compressed once, with an ETag. */

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context } from "hono";

export interface FixedResponseOptions {
  contentType: string;
  cacheControl: string;
  /** Called at the first request for each encoding, and again only if it failed. */
  text: () => Content | Promise<Content>;
}

/** Text, or the bytes of a picture. */
type Content = string | Uint8Array<ArrayBuffer>;

type Encoding = "gzip" | "identity";

interface Variant {
  bytes: Uint8Array<ArrayBuffer>;
  headers: Record<string, string>;
}

/** Supports gzip but not brotli, which would save a sixth but add a third variant to test. */
export function createFixedResponse(
  options: FixedResponseOptions,
): (c: Context) => Promise<Response> {
  const variants = new Map<Encoding, Promise<Variant>>();

  function variantOf(encoding: Encoding): Promise<Variant> {
    const known = variants.get(encoding);
    if (known) return known;
    const variant = createVariant(encoding, options);
    variants.set(encoding, variant);
    variant.catch(() => variants.delete(encoding));
    return variant;
  }

  return async function respond(c) {
    const isGzipAccepted = accepts(c.req.header("accept-encoding"), "gzip");
    const { bytes, headers } = await variantOf(isGzipAccepted ? "gzip" : "identity");
    return isKnown(c.req.header("if-none-match"), headers.ETag!)
      ? c.body(null, 304, headers)
      : c.body(bytes, 200, {
        ...headers,
        "Content-Type": options.contentType,
        // Set explicitly, so that HEAD has it as well.
        "Content-Length": String(bytes.length),
        ...isGzipAccepted && { "Content-Encoding": "gzip" },
      });
  };
}

/** The ETag is a hash of the encoded bytes, so that it is a strong ETag in each encoding. */
async function createVariant(
  encoding: Encoding,
  { text, cacheControl }: FixedResponseOptions,
): Promise<Variant> {
  const content = await text();
  const plain = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const bytes = encoding === "gzip"
    ? new Uint8Array(await promisify(gzip)(plain, { level: 9 }))
    : plain;
  const tag = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
  return {
    bytes,
    headers: { ETag: `"${tag}"`, Vary: "Accept-Encoding", "Cache-Control": cacheControl },
  };
}

/** True if the client lists the encoding with a weight above 0. */
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

/** A cache may have marked the ETag as weak (`W/`), which makes no difference for a GET. */
function isKnown(header: string | undefined, tag: string): boolean {
  const known = (header ?? "").split(",").map((each) => each.trim().replace(/^W\//, ""));
  return known.includes(tag) || known.includes("*");
}
