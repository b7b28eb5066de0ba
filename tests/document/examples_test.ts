import assert from "node:assert/strict";
import { verifySignature } from "../../core/gateway/signature.ts";
import { findDocumentDefects } from "../support/document/document_defects.ts";
import { type Json, SERVER_KEY } from "../support/gateway/sandbox.ts";

const written = await Deno.readTextFile(new URL("../../openapi/openapi.json", import.meta.url));

Deno.test("document examples: everything is described and has valid examples", () => {
  assert.deepEqual(findDocumentDefects(JSON.parse(written)), []);
});

type Mistake = [what: string, make: (document: Json) => void, defect: RegExp];

/** Composed schemas, and a member that each adds to the schema it refers to. */
const ADDED_MEMBERS = [
  ["AkulakuItemDetails", "id"],
  ["OvoCustomerDetails", "phone"],
  ["PaymentEventData", "notification_id"],
  ["WebhookEndpointWithSecret", "secret"],
] as const;

/** Changes to the document, and the defect that each must cause. */
const MISTAKES: Mistake[] = [
  ["a response without examples", ({ paths }) => {
    delete paths["/charge/"].post.responses[201].content["application/json"].examples;
  }, /createCharge: 201 has no examples/],
  ["a request without examples", ({ paths }) => {
    delete paths["/invoices/"].post.requestBody.content["application/json"].examples;
  }, /createInvoice: its request has no examples/],
  ["an example that does not match its schema", ({ components }) => {
    components.examples.voided_invoice.value.total_amount = 150000;
  }, /voided_invoice: \/total_amount must be string/],
  ["an example with a member that is not declared", ({ components }) => {
    components.examples.voided_invoice.value.colour = "blue";
  }, /voided_invoice:.*colour/],
  ["a webhook with the example of another event", ({ webhooks }) => {
    const [example] = Object.values<Json>(
      webhooks.invoice_paid.post.requestBody.content["application/json"].examples,
    );
    example.value.name = "payment_settled";
  }, /onInvoicePaid: its request: invoice_paid: \/name/],
  ["an error without an example", ({ paths }) => {
    paths["/me/"].get.responses[401].content["application/problem+json"].examples = {};
  }, /getCaller: 401 has no examples/],
  ["a parameter without a description", ({ paths }) => {
    delete paths["/payments/"].get.parameters[0].description;
  }, /listPayments: payment_type has no description/],
  ["a parameter without an example", ({ paths }) => {
    delete paths["/payments/"].get.parameters[1].examples;
  }, /listPayments: status has no example/],
  ["a member without a description", ({ components }) => {
    delete components.schemas.Status.properties.jobs.properties.by_task.items.properties.task
      .description;
  }, /Status\.jobs\.by_task\.task has no description/],
  ...ADDED_MEMBERS.map(([name, member]): Mistake => [
    `the member ${member} that ${name} adds, without a description`,
    ({ components }) => {
      const { allOf, properties } = components.schemas[name];
      delete (allOf ? allOf[1].properties : properties)[member].description;
    },
    new RegExp(`^${name}\\.${member} has no description$`, "m"),
  ]),
  ["a member of oneOf, anyOf or additionalProperties without a description", ({ components }) => {
    const undescribed = (name: string) => [{ properties: { [name]: { type: "string" } } }];
    Object.assign(components.schemas.Readiness, {
      oneOf: undescribed("either"),
      anyOf: undescribed("any"),
    });
    components.schemas.Liveness.additionalProperties = undescribed("other")[0];
  }, /Liveness\.other has no[^]*Readiness\.either has no[^]*Readiness\.any has no/],
  ["a composed schema without a description", ({ components }) => {
    delete components.schemas.InvoiceEventData.description;
  }, /^InvoiceEventData has no description$/m],
  ["an operation with a description that is too short", ({ paths }) => {
    paths["/me/"].get.description = "Returns the caller.";
  }, /getCaller has fewer than two sentences of description/],
  ["an operation whose description mentions no error", ({ paths }) => {
    paths["/jobs/"].get.description = "Lists the jobs. The newest is first.";
  }, /listJobs mentions no error code/],
  ["an operation whose description mentions an error that it does not declare", ({ paths }) => {
    paths["/status/"].get.description += " Otherwise the error is `duplicate_order`.";
  }, /getStatus mentions duplicate_order, which it does not declare/],
  ["an error code that is not in the table of codes", ({ paths }) => {
    const { examples } = paths["/status/"].get.responses[401].content["application/problem+json"];
    examples.on_holiday = examples.unauthenticated;
  }, /getStatus declares on_holiday, which is not in ERROR_CODES/],
  ["an error code that the Problem schema does not allow", ({ components }) => {
    components.schemas.Problem.properties.code.enum.pop();
  }, /gateway_timeout is not in the enum of Problem\.code/],
];

Deno.test("document examples: each mistake in a description or example is reported", () => {
  const document = JSON.parse(written);
  // All changes at once, because checking a document is slow.
  for (const [, make] of MISTAKES) make(document);
  const defects = findDocumentDefects(document).join("\n");
  for (const [what, , defect] of MISTAKES) assert.match(defects, defect, what);
});

Deno.test("document examples: the reference page sends no optional parameter by default", () => {
  const { paths } = JSON.parse(written);
  for (const { parameters = [] } of Object.values<Json>(paths).flatMap(Object.values<Json>)) {
    for (const { in: place, name, required, examples } of parameters) {
      if (name === undefined || required) continue;
      const isUnsent = Object.values<Json>(examples).every((each) => each["x-disabled"]);
      assert.ok(isUnsent, `${place} ${name}`);
    }
  }
});

Deno.test("document examples: the example notification is signed with the sandbox's key", () => {
  const { webhooks, components } = JSON.parse(written);
  const { examples } = webhooks.gateway_notification.post.requestBody.content["application/json"];
  const { settlement: { $ref } } = examples;
  const { value } = components.examples[$ref.split("/").at(-1)];
  const { order_id, status_code, gross_amount, signature_key } = value;
  assert.ok(verifySignature(order_id, status_code, gross_amount, signature_key, SERVER_KEY));
});
