import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { sign } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments } from "../support/payments/payments.ts";

const document = JSON.parse(
  await Deno.readTextFile(new URL("../../openapi/openapi.json", import.meta.url)),
);
const ajv = new Ajv2020({ strict: false });
(formats as unknown as (ajv: Ajv2020) => void)(ajv);
ajv.addSchema(document, "document");

/** Whether the document allows this body. */
function isAllowed(schema: string, body: Json): boolean {
  return ajv.validate(`document#/components/schemas/${schema}`, body) as boolean;
}

const charge = (customer_details: Json) => ({
  payment_type: "qris",
  gross_amount: 10_000,
  customer_details,
});
const address = (billing_address: Json) => charge({ billing_address });

/** Bodies that the service rejects, with the field that its error names. */
const REJECTED: [field: string, body: Json][] = [
  ["customer_details.billing_address.postal_code", address({ postal_code: "10_110" })],
  ["customer_details.billing_address.postal_code", address({ postal_code: "12345678901" })],
  ["customer_details.billing_address.country_code", address({ country_code: "USA" })],
  ["customer_details.billing_address.country_code", address({ country_code: "idn" })],
  ...["\u0000", "\u0007", "\n", "\u007f", "\u0085", "\u009f"].map((character): [string, Json] => [
    "customer_details.first_name",
    charge({ first_name: `Budi${character}` }),
  ]),
];

const ACCEPTED: Json[] = [
  address({ postal_code: "SW1A 1-AA", country_code: "IDN" }),
  address({ postal_code: "", country_code: "" }),
  charge({ first_name: "Büdi 日本 🙂", last_name: "\u00a0" }),
];

Deno.test("charge: the document and the service have the same limits for texts", async () => {
  await using payments = await openPayments();
  for (const [field, body] of REJECTED) {
    const response = await payments.post("/charge/", body);
    const { code, errors } = await response.json();
    assert.deepEqual([code, errors?.[0]?.field], ["validation_error", field]);
    assert.equal(isAllowed("ChargeRequest", body), false, JSON.stringify(body));
  }
  for (const body of ACCEPTED) {
    const response = await payments.post("/charge/", body);
    assert.equal(response.status, 201, await response.text());
    assert.equal(isAllowed("ChargeRequest", body), true, JSON.stringify(body));
  }
});

Deno.test("notification: the document and the service have the same limits for signed fields", async () => {
  await using payments = await openPayments();
  const signed = (order_id: string) =>
    sign({
      order_id,
      transaction_status: "pending",
      status_code: "201",
      gross_amount: "10000.00",
      transaction_id: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
      payment_type: "qris",
    });
  for (const orderId of ["", ".", "..", "a\u0000b", "a".repeat(256)]) {
    const body = await signed(orderId);
    const response = await payments.post("/notification/", body);
    const { errors } = await response.json();
    assert.equal(errors?.[0]?.field, "order_id", JSON.stringify(orderId));
    assert.equal(isAllowed("NotificationPayload", body), false, JSON.stringify(orderId));
  }
  for (const orderId of ["...", "a", ".a", "a\nb", "a".repeat(255)]) {
    const body = await signed(orderId);
    const response = await payments.post("/notification/", body);
    assert.equal(response.status, 200, await response.text());
    assert.equal(isAllowed("NotificationPayload", body), true, JSON.stringify(orderId));
  }
});
