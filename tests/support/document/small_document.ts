/** A small document with one of each element, for tests that change it. */

import type { Json } from "../gateway/sandbox.ts";

export function smallDocument(): Json {
  return structuredClone({
    openapi: "3.1.0",
    info: { title: "A shop", version: "1.4.2" },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    paths: {
      "/orders/": {
        get: {
          operationId: "listOrders",
          parameters: [
            { name: "limit", in: "query", schema: { type: "integer", maximum: 100, default: 20 } },
            { $ref: "#/components/parameters/RequestId" },
          ],
          responses: {
            200: {
              headers: { Link: { schema: { type: "string" } } },
              content: {
                "application/json": {
                  schema: { type: "array", items: { $ref: "#/components/schemas/Order" } },
                },
                "text/csv": { schema: { type: "string" } },
              },
            },
          },
        },
        post: {
          operationId: "createOrder",
          requestBody: {
            content: {
              "application/json": { schema: { $ref: "#/components/schemas/OrderRequest" } },
            },
          },
          responses: {
            201: {
              headers: { "X-Request-Id": { $ref: "#/components/headers/RequestId" } },
              content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } },
            },
            400: { $ref: "#/components/responses/Refused" },
          },
        },
      },
      "/ping/": {
        get: { operationId: "ping", security: [], responses: { 204: { description: "Pong" } } },
      },
    },
    webhooks: {
      order_paid: {
        post: {
          operationId: "onOrderPaid",
          security: [],
          parameters: [
            { name: "webhook-id", in: "header", required: true, schema: { type: "string" } },
          ],
          requestBody: {
            content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } },
          },
          responses: { "2XX": {} },
        },
      },
    },
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      parameters: {
        RequestId: { name: "X-Request-Id", in: "header", schema: { type: "string" } },
      },
      headers: { RequestId: { required: true, schema: { type: "string" } } },
      responses: {
        Refused: {
          content: {
            "application/problem+json": {
              schema: { $ref: "#/components/schemas/Problem" },
              examples: { sold_out: {}, too_many: {} },
            },
          },
        },
      },
      schemas: {
        Order: {
          type: "object",
          required: ["id", "state", "payer"],
          properties: {
            id: { type: "string", format: "uuid", maxLength: 36 },
            state: { type: "string", enum: ["open", "paid"] },
            payer: { anyOf: [{ $ref: "#/components/schemas/Person" }, { type: "null" }] },
            note: { type: ["string", "null"] },
            copies: { type: "array", items: { $ref: "#/components/schemas/Order" } },
            labels: { type: "object", additionalProperties: { type: "string" } },
          },
        },
        Person: {
          allOf: [
            { type: "object", required: ["name"], properties: { name: { type: "string" } } },
            { type: "object", properties: { phone: { type: "string" } } },
          ],
        },
        OrderRequest: {
          type: "object",
          properties: { gift: { type: "boolean" } },
          oneOf: [
            { $ref: "#/components/schemas/CashOrder" },
            { $ref: "#/components/schemas/CardOrder" },
          ],
        },
        CashOrder: {
          type: "object",
          required: ["amount"],
          properties: {
            amount: { type: "number", minimum: 1, maximum: 1000 },
            note: { type: ["string", "null"], maxLength: 50, pattern: "^[a-z]*$" },
            shop: { type: "string", enum: ["north", "south"] },
          },
        },
        CardOrder: {
          type: "object",
          properties: {
            token: { type: "string" },
            marks: { type: "array", items: { type: "string" } },
            extra: { type: "object", additionalProperties: { type: "string" } },
            digits: { allOf: [{ type: "string", maxLength: 16 }, { maxLength: 19 }] },
          },
        },
        Problem: {
          type: "object",
          required: ["code"],
          properties: {
            code: { type: "string" },
            order: { $ref: "#/components/schemas/Order" },
          },
        },
      },
    },
  });
}
