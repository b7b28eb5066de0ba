/** Reads a problem document and checks its fields. */

import type { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import type { ErrorCode } from "../../core/errors.ts";
import { ProblemSchema } from "../../http/problems/schema.ts";

export async function assertProblem(
  response: Response,
  status: number,
  code: ErrorCode,
): Promise<z.output<typeof ProblemSchema>> {
  // The text of an event stream would never end.
  assert.notEqual(response.headers.get("content-type"), "text/event-stream");
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  const problem = ProblemSchema.parse(JSON.parse(text));
  assert.equal(problem.code, code);
  assert.equal(problem.status, status);
  assert.equal(problem.instance, response.headers.get("x-request-id"));
  return problem;
}
