/**
 * The reference for reads: a bare Hono route that answers every request with the bytes of a file.
 */

import { Hono } from "hono";

const body = await Deno.readTextFile(Deno.args[0]!);

const app = new Hono();
app.get("*", (c) => c.body(body, 200, { "Content-Type": "application/json" }));
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(`API http://127.0.0.1:${port}/`),
}, app.fetch);
