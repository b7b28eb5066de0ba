import assert from "node:assert/strict";
import { createHeldResponses } from "../../http/middleware/hold_responses.ts";

function at(path: string): Request {
  return new Request(`http://localhost${path}`);
}

Deno.test("held responses: wait until they are released, except those to health checks", async () => {
  const responses = createHeldResponses();
  const handle = responses.wrap(() => new Response());
  assert.ok(handle(at("/me/")) instanceof Response, "a promise would slow down each request");

  responses.hold();
  let isAnswered = false;
  const held = Promise.resolve(handle(at("/charge/"))).then(() => isAnswered = true);
  for (const path of ["/health/live/", "/pay/health/ready"]) {
    assert.ok(handle(at(path)) instanceof Response);
  }
  assert.equal(isAnswered, false);
  responses.release();
  await held;
  assert.ok(handle(at("/me/")) instanceof Response);
});
