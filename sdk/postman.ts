/**
 * Program: builds a Postman collection from the OpenAPI document, with Postman's own converter.
 * `collection.ts` improves the result.
 */

import { join } from "node:path";
import { completeCollection, type Document } from "./collection.ts";
import type { Collection } from "./collection_parts.ts";
import { CONVERTER, DIST, HERE } from "./tools.ts";

interface Conversion {
  result: boolean;
  reason?: string;
  output?: [{ data: Collection }];
}

interface Converter {
  convertV2(
    input: { type: "string"; data: string },
    options: Record<string, unknown>,
    done: (error: Error | null, conversion: Conversion) => void,
  ): void;
}

const OPTIONS = {
  folderStrategy: "Tags",
  parametersResolution: "Example",
  enableOptionalParameters: false,
  includeAuthInfoInExample: false,
};

const document = await Deno.readTextFile(join(HERE, "../openapi/openapi.json"));
const collection = completeCollection(await convert(document), JSON.parse(document) as Document);
const folder = Deno.args[0] ?? DIST;
await Deno.mkdir(folder, { recursive: true });
const output = join(folder, "postman_collection.json");
await Deno.writeTextFile(output, JSON.stringify(collection, null, 1) + "\n");
console.log(output);

async function convert(data: string): Promise<Collection> {
  const { default: converter }: { default: Converter } = await import(CONVERTER);
  return await new Promise((resolve, reject) => {
    converter.convertV2({ type: "string", data }, OPTIONS, (error, { result, reason, output }) => {
      if (result && output) resolve(output[0].data);
      else reject(error ?? new Error(reason));
    });
  });
}
