/** JSON as the gateway sends it: anything, of any depth. */

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

/** Nothing of the gateway's is as deep as this; the stack is not endless, and hostile bodies are. */
export const MAX_DEPTH = 16;

/** Null where the text is no JSON object. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: Json = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
