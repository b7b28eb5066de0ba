/**
 * Components of the OpenAPI document that operations share: headers, a parameter, a response, the
 * security scheme.
 */

import type { OpenAPIHono } from "@hono/zod-openapi";
import type { ErrorCode } from "../core/errors.ts";

export const EXAMPLE_REQUEST_ID = "5b0c7a4e-2f61-4c1d-9a38-e1f06d7b9c25";

const HEADERS = {
  RequestId: {
    description: "Request id, also in the service's log. Include it when you contact support.",
    required: true,
    schema: { type: "string" },
    example: EXAMPLE_REQUEST_ID,
  },
  RetryAfter: {
    description: "Seconds to wait before a retry.",
    required: true,
    schema: { type: "integer", minimum: 0 },
    example: 2,
  },
  MayRetryAfter: {
    description: "Seconds to wait before a retry. Absent if the same request would fail again.",
    schema: { type: "integer", minimum: 0 },
    example: 2,
  },
  RateLimit: {
    description: "Remaining requests (`r`), and seconds until more are available (`t`).",
    required: true,
    schema: { type: "string" },
    example: '"caller";r=0;t=1',
  },
  RateLimitPolicy: {
    description: "Allowed requests (`q`) per window of `w` seconds.",
    required: true,
    schema: { type: "string" },
    example: '"caller";q=200;w=2',
  },
  Authenticate: {
    description: "Authentication scheme.",
    required: true,
    schema: { type: "string" },
    example: "Bearer",
  },
  IdempotencyReplayed: {
    description: "`true`: this is the stored response of an earlier request with the same key.",
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

export function responseRef(name: "Unreadable") {
  return { $ref: `#/components/responses/${name}` };
}

export function exampleRef(code: ErrorCode) {
  return { $ref: `#/components/examples/${code}` };
}

// deno-lint-ignore no-explicit-any -- the document does not depend on the router's environment
export function registerComponents({ openAPIRegistry }: OpenAPIHono<any>): void {
  openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description:
      "An API key (`gk_…`), or a JWT if the service is configured for it. The operator creates " +
      "keys: `deno task keys create --user alice`, with `--staff` for a staff key or `--viewer` for " +
      "a viewer key; staff also create keys with `POST /keys/`. A key is " +
      "shown once. A revoked key stops working within 5 seconds. In development, `deno task " +
      "start` prints a user key and a staff key.",
  });
  openAPIRegistry.registerComponent("parameters", "RequestId", {
    name: "X-Request-Id",
    in: "header",
    description: "Your own id for the request, up to 128 letters, digits and `_.:-`. The service " +
      "generates one if it is omitted.",
    schema: { type: "string" },
    examples: unsentExample(EXAMPLE_REQUEST_ID),
  });
  // Sent by the HTTP server before the service sees the request, so it has no body and no id.
  openAPIRegistry.registerComponent("responses", "Unreadable", {
    description:
      "The request is not valid HTTP, or has too many or too large headers. The response " +
      "has no body, and the connection is closed.",
  });
  for (const [name, header] of Object.entries(HEADERS)) {
    openAPIRegistry.registerComponent("headers", name, header);
  }
}

/** A parameter example that the reference page shows but does not send by default. */
export function unsentExample(value: unknown) {
  return { example: { value, "x-disabled": true } };
}
