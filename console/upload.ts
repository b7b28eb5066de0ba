/** Reads a form with a file, without holding the file in memory. */

import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { Readable } from "node:stream";
import { invalidField, ServiceError } from "../core/errors.ts";
import { MAX_FILE_BYTES, tooLarge } from "../core/reports/reconciliations.ts";

export interface Upload {
  /** The fields before the file. */
  fields: Map<string, string>;
  file: ReadableStream<Uint8Array>;
  /**
   * Reads what is left. Browsers show the response only after they have sent the whole file; if the
   * connection was closed before, they would show a network error.
   */
  skipRest(): Promise<void>;
}

/** The boundaries, headers and fields around the file. */
const MAX_FORM_BYTES = 16 * 1024;

const LIMITS = { files: 1, fields: 20, fieldSize: 1_000, fieldNameSize: 50, headerPairs: 20 };

/** Resolves when the file begins. The file must be the last field of the form. */
export async function readUpload({ headers, body }: Request): Promise<Upload> {
  const contentType = headers.get("content-type") ?? "";
  if (!/^multipart\/form-data\s*;/i.test(contentType) || body === null) {
    throw new ServiceError("unsupported_media_type", { detail: "Send a form with a file." });
  }
  if (Number(headers.get("content-length") ?? 0) > MAX_FILE_BYTES + MAX_FORM_BYTES) {
    throw tooLarge();
  }
  const parser = createParser(contentType);
  // The types of the DOM and of Node describe the same stream differently.
  const source = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]);
  const fields = new Map<string, string>();
  const { promise, resolve, reject } = Promise.withResolvers<Readable>();
  parser.on("field", (name, value) => void fields.set(name, value));
  parser.on("file", (_name, stream) => resolve(stream));
  parser.on("finish", () => reject(invalidField("file", "is missing; choose a report")));
  parser.on("error", () => reject(incomplete()));
  source.on("error", () => reject(incomplete()));
  source.pipe(parser);
  const file = await promise;
  source.on("error", (error) => file.destroy(error));
  parser.on("error", (error) => file.destroy(error as Error));
  return {
    fields,
    file: Readable.toWeb(file) as ReadableStream<Uint8Array>,
    async skipRest() {
      source.unpipe(parser);
      let left = MAX_FILE_BYTES;
      try {
        for await (const chunk of source) {
          left -= chunk.length;
          if (left < 0) break;
        }
      } catch {
        // The browser has closed the connection.
      }
    },
  };
}

function createParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({ headers: { "content-type": contentType }, limits: LIMITS });
  } catch {
    throw incomplete();
  }
}

function incomplete(): ServiceError {
  return invalidField("body", "was incomplete; send the form again");
}
