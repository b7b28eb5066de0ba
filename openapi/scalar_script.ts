/** The reference page's script, taken from a package so that the page asks nobody outside. */

type Handler = (request: unknown, reply: Reply) => unknown;
interface Reply {
  header(name: string, value: string): Reply;
  send(body: string): unknown;
}

/**
 * The package is a plugin for another framework and keeps the script to itself: handed something
 * that only listens, it registers the route that would send it. Imported when it is called: it
 * is large, and most starts never show the page.
 */
export async function loadScalarScript(): Promise<string> {
  const { default: plugin } = await import("@scalar/fastify-api-reference");
  const routes = new Map<string, Handler>();
  const listener = {
    route: ({ url, handler }: { url: string; handler: Handler }) => routes.set(url, handler),
  };
  // deno-lint-ignore no-explicit-any -- the few members it uses of what it takes for Fastify
  plugin(listener as any, { configuration: { url: "/openapi.json" } }, () => {});
  return await new Promise((resolve, reject) => {
    const send = routes.get("/reference/js/scalar.js");
    if (!send) return reject(new Error("The reference page's package has no script"));
    const reply: Reply = { header: () => reply, send: resolve };
    send({}, reply);
  });
}
