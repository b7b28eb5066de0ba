/** Reads the file of the setting MERCHANT_LOGO, and finds out which kind of image it is. */

import type { Config } from "./config.ts";
import { ConfigError } from "./problems.ts";

export interface Logo {
  /** The media type. */
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
}

const MAX_BYTES = 100_000;

/** Null without MERCHANT_LOGO. Throws a `ConfigError` if the file is not a small image. */
export async function readLogo(
  { merchant: { logoFile }, isDenoDeploy }: Pick<Config, "merchant" | "isDenoDeploy">,
): Promise<Logo | null> {
  if (logoFile === null) return null;
  const refuse = (problem: string) =>
    new ConfigError([{ name: "MERCHANT_LOGO", problem, hasExample: false }], isDenoDeploy);
  const bytes = await readAtMost(logoFile, MAX_BYTES + 1).catch(() => null);
  if (!bytes) {
    throw refuse(
      "names a file that does not exist or cannot be read; a relative path begins in the " +
        "service's own folder",
    );
  }
  if (bytes.length > MAX_BYTES) {
    throw refuse("names a file of more than 100 kB; make the image smaller");
  }
  const type = imageType(bytes);
  if (type === null) {
    throw refuse("names a file that is not a PNG, JPEG, WebP or SVG image; convert it to one");
  }
  return { type, bytes };
}

/** Reads no more, so that a wrong path to a large file costs nothing. */
async function readAtMost(path: string, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  using file = await Deno.open(path);
  const bytes = new Uint8Array(limit);
  let length = 0;
  while (length < limit) {
    const count = await file.read(bytes.subarray(length));
    if (count === null) break;
    length += count;
  }
  return bytes.slice(0, length);
}

/** By the content, because a file's name can be wrong. Null: none of the accepted kinds. */
function imageType(bytes: Uint8Array): string | null {
  const start = String.fromCharCode(...bytes.subarray(0, 12));
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (start.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^RIFF[^]{4}WEBP$/.test(start)) return "image/webp";
  return isSvg(bytes) ? "image/svg+xml" : null;
}

/** Browsers draw an SVG image only if it names its namespace. */
function isSvg(bytes: Uint8Array): boolean {
  try {
    const decoded = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const text = decoded.replaceAll(/<!--[^]*?-->/g, "").trimStart();
    const [, root] = text.match(/<(\w[^\s/>]*)/) ?? [];
    return text.startsWith("<") && root === "svg" && text.includes("http://www.w3.org/2000/svg");
  } catch {
    return false;
  }
}
