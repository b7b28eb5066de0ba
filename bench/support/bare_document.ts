/** The reference for `GET /openapi.json`: a bare Hono route with the same compressed bytes. */

import { gzipSync } from "node:zlib";
import { Hono } from "hono";

const text = await Deno.readTextFile(new URL("../../openapi/openapi.json", import.meta.url));
const body = new Uint8Array(gzipSync(JSON.stringify(JSON.parse(text)), { level: 9 }));

const app = new Hono();
app.get(
  "/openapi.json/",
  (c) => c.body(body, 200, { "Content-Type": "application/json", "Content-Encoding": "gzip" }),
);
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(`API http://127.0.0.1:${port}/`),
}, app.fetch);
