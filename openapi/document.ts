/** The OpenAPI document: made from the routes, once. */

import type { OpenAPIHono } from "@hono/zod-openapi";

export type Document = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;

const DESCRIPTION = `
Stands between your software and the payment gateway.

**Authentication.** Send \`Authorization: Bearer <credential>\` with every request; a credential is an
API key (\`gk_…\`) or, where the service is set up for it, a JWT.

**Errors** are problem documents (RFC 9457, \`application/problem+json\`) whose \`code\` is stable.
`.trim();

// deno-lint-ignore no-explicit-any -- whatever the router's environment, its document is the same
export function createDocument(api: OpenAPIHono<any>, basePath: string): Document {
  api.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "An API key (`gk_…`) or a JWT.",
  });
  return api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Payment Gateway Integration Service",
      version: "1.0.0",
      description: DESCRIPTION,
    },
    servers: [{ url: basePath || "/" }],
    security: [{ bearer: [] }],
    tags: [
      { name: "Callers", description: "Who is calling." },
      { name: "Health", description: "For balancers and supervisors." },
    ],
  });
}
