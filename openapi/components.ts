/** What operations have in common and the document says once: headers, a parameter, the scheme. */

import type { OpenAPIHono } from "@hono/zod-openapi";
import type { ErrorCode } from "../core/errors.ts";

export const EXAMPLE_REQUEST_ID = "5b0c7a4e-2f61-4c1d-9a38-e1f06d7b9c25";

const HEADERS = {
  RequestId: {
    description: "The request's id, also in the service's log: quote it when asking for help.",
    required: true,
    schema: { type: "string" },
    example: EXAMPLE_REQUEST_ID,
  },
  RetryAfter: {
    description: "After how many seconds to try again.",
    required: true,
    schema: { type: "integer", minimum: 0 },
    example: 2,
  },
  MayRetryAfter: {
    description: "After how many seconds to try again; absent where that would not help.",
    schema: { type: "integer", minimum: 0 },
    example: 2,
  },
  RateLimit: {
    description:
      "How many requests are left (`r`), and in how many seconds there will be more (`t`).",
    required: true,
    schema: { type: "string" },
    example: '"caller";r=0;t=1',
  },
  RateLimitPolicy: {
    description: "How many requests (`q`) there are in how many seconds (`w`).",
    required: true,
    schema: { type: "string" },
    example: '"caller";q=200;w=2',
  },
  Authenticate: {
    description: "How to authenticate.",
    required: true,
    schema: { type: "string" },
    example: "Bearer",
  },
  IdempotencyReplayed: {
    description: "`true`: this is the first answer to the same request, given again.",
    schema: { type: "string", const: "true" },
    example: "true",
  },
} as const;

export type CommonHeader = keyof typeof HEADERS;

export function headerRef(name: CommonHeader) {
  return { $ref: `#/components/headers/${name}` };
}

export function parameterRef(name: "RequestId") {
  return { $ref: `#/components/parameters/${name}` };
}

export function answerRef(name: "Unreadable") {
  return { $ref: `#/components/responses/${name}` };
}

export function exampleRef(code: ErrorCode) {
  return { $ref: `#/components/examples/${code}` };
}

// deno-lint-ignore no-explicit-any -- whatever the router's environment, its document is the same
export function registerComponents({ openAPIRegistry }: OpenAPIHono<any>): void {
  openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "An API key (`gk_…`), or a JWT where the service is set up for it. Whoever runs " +
      "the service makes keys: `deno task keys create --user alice`, with `--staff` for staff. " +
      "A key is shown once, and stops working within 5 seconds of being revoked. On a machine of " +
      "your own, `deno task start` prints one for a user and one for staff.",
  });
  openAPIRegistry.registerComponent("parameters", "RequestId", {
    name: "X-Request-Id",
    in: "header",
    description: "An id of your own for the request; the service makes one up where it is left " +
      "out. Up to 128 letters, digits and `_.:-`.",
    schema: { type: "string" },
    examples: unsent(EXAMPLE_REQUEST_ID),
  });
  // Given by the server before the service sees anything of it, and so without a problem or an id.
  openAPIRegistry.registerComponent("responses", "Unreadable", {
    description: "The request is no HTTP, or its headers are too large or too many. There is no " +
      "body, and the connection is closed.",
  });
  for (const [name, header] of Object.entries(HEADERS)) {
    openAPIRegistry.registerComponent("headers", name, header);
  }
}

/** An example that the reference page shows, and does not send with every request tried there. */
export function unsent(value: unknown) {
  return { example: { value, "x-disabled": true } };
}
