/** The reference for `GET /me/`: a bare Hono route with the same response. */

import { Hono } from "hono";

const app = new Hono();
app.get("/me/", (c) =>
  c.json({
    user_id: "developer",
    is_staff: false,
    role: "user",
    credential: "api_key",
    key_prefix: "gk_q83vEjRW",
  }));
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(`API http://127.0.0.1:${port}/`),
}, app.fetch);
