/** What is kept of a notification's payload: all but its signature, tokens and card numbers. */

import { type Json, type JsonObject, MAX_DEPTH, toStorableText } from "../gateway/json.ts";
import { isPaymentNumber, isSecretName, maskText } from "../gateway/mask.ts";

/** Only what has one of these can have anything to be masked in it. */
const SUSPECT = /\d(?:[ -]?\d){12}|[?&"]|3ds|basic|bearer/i;

export function keepable(payload: JsonObject): JsonObject {
  return keep(payload, 0) as JsonObject;
}

function keep(data: Json, depth: number): Json {
  if (typeof data === "string") return keepText(data);
  if (typeof data !== "object" || data === null) return data;
  // Nothing of the gateway's is that deep.
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(data)) return data.map((each) => keep(each, depth + 1));
  // Anybody chooses the names: none of them may mean more than a name.
  const kept: JsonObject = Object.create(null);
  for (const name in data) {
    if (!isSecretName(name)) kept[keepText(name)] = keepMember(name, data[name]!, depth);
  }
  return kept;
}

function keepMember(name: string, value: Json, depth: number): Json {
  const isNumber = typeof value === "string" && isPaymentNumber(name);
  return isNumber ? toStorableText(value) : keep(value, depth + 1);
}

function keepText(text: string): string {
  const clean = toStorableText(text);
  return SUSPECT.test(clean) ? maskText(clean) : clean;
}
