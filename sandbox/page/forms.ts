/** Forms that change something: taken from the sandbox's own pages alone, and short. */

import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { every } from "hono/combine";
import { isFromElsewhere } from "../http/same_origin.ts";
import type { Identity } from "../world/world.ts";
import { message } from "./message.ts";

export function ownForm(world: Identity): MiddlewareHandler {
  return every(sameOrigin(world), bodyLimit({ maxSize: 10_000 }));
}

function sameOrigin(world: Identity): MiddlewareHandler {
  return async (c, next) => {
    if (!isFromElsewhere(c.req.raw.headers, world.publicUrl())) return await next();
    return message(c, "Not from here", "Another site tried to press this button for you.", 403);
  };
}

/** A field of the form; what is missing, or no text, is empty. */
export async function readField(c: Context, name: string): Promise<string> {
  const value = (await c.req.parseBody())[name];
  return typeof value === "string" ? value.trim() : "";
}
