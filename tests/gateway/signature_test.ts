import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { clientFor, SERVER_KEY } from "../support/gateway/gateway.ts";

const VECTORS = {
  "201":
    "fda93cc6263e7e7d4cda8e8bbe1c12b3854f3648d33f65490be12541dda26d4fbd8ea111539ebd1ba34a1aa8f2403f8d9ba85f5a9c7709541db6ad2a7a577e56",
  "200":
    "f483fae02dc0f08b6f270b52323ede9ee629f396f11c2819cc57e128c5f69286b1f89d259bdd552abaa270f8f021e4abcfe2a54d2c3331481458f9532d7c7c62",
  "202":
    "2e7ece5a5019d1c3432e8de14c05e77cccbf253a166c2ddf436e09b84271ec1c43c8544f042a80aa13c7236d2293b598942d213a6306d791f47fd5cd849a0301",
};
const gateway = clientFor("http://127.0.0.1:2");
const ORDER = ["order-101", "200", "44000.00"] as const;

for (const [statusCode, signature] of Object.entries(VECTORS)) {
  Deno.test(`signature: is valid for status code ${statusCode}`, () => {
    assert.ok(gateway.verifySignature("order-101", statusCode, "44000.00", signature));
    assert.ok(gateway.verifySignature("order-101", statusCode, "44000.00", signature, SERVER_KEY));
    assert.ok(gateway.verifySignature("order-101", statusCode, "44000.00", signature, null));
  });
}

Deno.test("signature: is checked with the given server key instead of the configured one", () => {
  const key = "askvnoibnosifnboseofinbofinfgbiufglnbfg";
  const signature =
    "edc076b21793ebe3e17926350f5b8ae67d902fe657b3d0aa31b932d5c127e2375d308a2bc94f3265ac2d80a1f181a79b997ac178a236fcff35af263fc4d4c231";
  assert.ok(gateway.verifySignature("1111", "200", "100000.00", signature, key));
  assert.ok(!gateway.verifySignature("1111", "200", "100000.00", signature));
  assert.ok(!gateway.verifySignature(...ORDER, VECTORS["200"], key));
});

Deno.test("signature: is not valid for another order id, status code or amount", () => {
  const signature = VECTORS["200"];
  assert.ok(!gateway.verifySignature("order-102", "200", "44000.00", signature));
  assert.ok(!gateway.verifySignature("order-101", "201", "44000.00", signature));
  assert.ok(!gateway.verifySignature("order-101", "200", "44000", signature));
  assert.ok(!gateway.verifySignature("order-101", "200", "44000.0", signature));
});

Deno.test("signature: is rejected without an error if a value has the wrong length or type", () => {
  const signature = VECTORS["200"];
  const invalid = [
    ...["", "0", signature.slice(1), signature + "0", signature.toUpperCase(), " ".repeat(128)],
    ...["é".repeat(128), "é".repeat(64), "\ud800".repeat(128), "a".repeat(1_000_000)],
    ...[null, undefined, 0, {}, [signature], new Uint8Array(128)],
  ];
  for (const each of invalid) assert.equal(gateway.verifySignature(...ORDER, each), false);
  for (const each of [null, undefined, 200, {}, ["order-101"]]) {
    assert.equal(gateway.verifySignature(each, "200", "44000.00", signature), false);
    assert.equal(gateway.verifySignature("order-101", each, "44000.00", signature), false);
    assert.equal(gateway.verifySignature("order-101", "200", each, signature), false);
  }
});

Deno.test("signature: is never valid with an empty server key", () => {
  const forged = createHash("sha512").update(ORDER.join("")).digest("hex");
  assert.equal(gateway.verifySignature(...ORDER, forged, ""), false);
});
