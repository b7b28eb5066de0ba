import assert from "node:assert/strict";
import { freePort, portsOf } from "./support/free_port.ts";

const FIRST_OF_LINUX = 32_768;

Deno.test("ports of tests: no two processes have the same, and Linux gives them to no other server", () => {
  const ranges = Array.from({ length: 6 }, (_, index) => portsOf(index, 6).split("-").map(Number));
  for (const [index, [first = 0, last = 0]] of ranges.entries()) {
    assert.ok(first < last && last < FIRST_OF_LINUX);
    if (index > 0) assert.ok(ranges[index - 1]![1]! < first);
  }
});

Deno.test("ports of tests: a port that was closed again is not given a second time", () => {
  const ports = Array.from({ length: 200 }, freePort);
  assert.equal(new Set(ports).size, ports.length);
});
