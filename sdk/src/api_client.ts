/** The generated client, with what it needs to work in Deno, too. */

import { type Client, type Config, createClient } from "#api/client";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/**
 * The generated calls leave the client among the settings of the request, where Deno's `Request`
 * expects a `client` of another kind; so it is taken out on the way.
 */
export function createApiClient(config: Config): Client {
  const client = createClient(config);
  const methods = METHODS.map((method) => {
    const call: Client["get"] = (options) => {
      const { client: _, ...rest } = options as typeof options & { client?: Client };
      return client[method](rest as typeof options);
    };
    return [method, call];
  });
  return { ...client, ...Object.fromEntries(methods) };
}
