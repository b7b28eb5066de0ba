/** Responds with the memory of the process in which it runs, after a garbage collection. */

declare function gc(): void;

const server = Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`Memory: http://127.0.0.1:${port}/`),
}, () => {
  gc();
  return Response.json(Deno.memoryUsage());
});
server.unref();
