/** A merchant's server that accepts and counts webhooks. */

let count = 0;
let first = 0;
let last = 0;

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
  if (request.method === "GET") return Response.json({ count, ms: last - first });
  if (request.method === "DELETE") count = 0;
  else {
    await request.body?.cancel();
    last = performance.now();
    if (count++ === 0) first = last;
  }
  return new Response("ok");
});
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.addr.port}` }));
Deno.addSignalListener("SIGTERM", () => Deno.exit(0));
