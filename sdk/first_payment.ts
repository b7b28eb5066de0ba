/** The first folder of the Postman collection: a sequence of requests with tests. */

import { type Folder, type Item, testEvent } from "./collection_parts.ts";

interface Changes {
  body?: object;
  query?: Record<string, string>;
  /** Further lines of the test script. */
  test?: string[];
}

const GOPAY = { payment_type: "gopay", gross_amount: 44_000 };

/** Builds the folder from the requests of the collection, which are mapped by operation id. */
export function firstPayment(operations: Map<string, Item>): Folder {
  const step = (operationId: string, name: string, changes: Changes = {}) =>
    applyChanges({ ...operations.get(operationId)!, name }, changes);
  return {
    name: "A first payment",
    description:
      "Set the variable `apiKey` and run this folder against a service with the sandbox " +
      "(`sandboxUrl`). It creates and cancels a charge, creates another one, pays it, refunds " +
      "part of it, lists both, and sends an invalid request.",
    item: [
      step("createCharge", "Create a charge"),
      step("cancelPayment", "Cancel the charge"),
      step("createCharge", "Create a charge that can be refunded", {
        body: GOPAY,
        test: ['pm.collectionVariables.set("order_id", pm.response.json().order_id);'],
      }),
      pay(),
      step("checkPaymentStatus", "Check that it is paid", {
        test: expectTest("is settled", 'json.payment.transaction_status).to.eql("settlement")'),
      }),
      step("refundPayment", "Refund part of it", {
        body: { amount: 4_000, reason: "Late delivery" },
        test: expectTest("is refunded", 'json.refund.amount).to.eql("4000.00")'),
      }),
      step("getPayment", "Get the payment", {
        test: expectTest(
          "is partially refunded",
          'json.transaction_status).to.eql("partial_refund")',
        ),
      }),
      step("listPayments", "List payments, one per page", {
        query: { limit: "1" },
        test: [
          ...expectTest(
            "newest payment comes first",
            'json[0].id).to.eql(pm.variables.get("payment_id"))',
          ),
          'pm.test("has a next page", () => {',
          '  const [, cursor] = pm.response.headers.get("Link").match(/[?&]cursor=([^&>]+)/);',
          '  pm.collectionVariables.set("next_cursor", decodeURIComponent(cursor));',
          "});",
        ],
      }),
      step("listPayments", "Get the next page", {
        query: { limit: "1", cursor: "{{next_cursor}}" },
        test: expectTest(
          "is another payment",
          'json[0].id).not.to.eql(pm.variables.get("payment_id"))',
        ),
      }),
      expectValidationError(
        step("createCharge", "Send an invalid amount", { body: { ...GOPAY, gross_amount: -1 } }),
      ),
    ],
  };
}

/** Pays through the sandbox, as the customer. The sandbox must not receive the API key. */
function pay(): Item {
  const path = ["_sandbox", "transactions", "{{order_id}}", "pay"];
  const url = { host: ["{{sandboxUrl}}"], path };
  return {
    name: "Pay as the customer (sandbox)",
    request: { method: "POST", url, header: [], auth: { type: "noauth" } },
    response: [],
    event: [testEvent([
      'pm.test("is paid", () => {',
      "  pm.expect(pm.response.code).to.eql(200);",
      "});",
    ])],
  };
}

function applyChanges(item: Item, { body, query, test = [] }: Changes): Item {
  const { request, event = [] } = item;
  const raw = body && JSON.stringify(body, null, 2);
  const changedQuery = request.url.query?.map((each) => {
    const value = query?.[each.key];
    return value === undefined ? each : { ...each, value, disabled: false };
  });
  return {
    ...item,
    request: {
      ...request,
      url: { ...request.url, query: changedQuery },
      body: raw ? { ...request.body, raw } : request.body,
    },
    // One script for all tests, because Postman shows only the first script.
    event: [testEvent([...event.flatMap(({ script }) => script.exec), ...test])],
  };
}

function expectTest(name: string, expectation: string): string[] {
  return [
    `pm.test("${name}", () => {`,
    "  const json = pm.response.json();",
    `  pm.expect(${expectation};`,
    "});",
  ];
}

/** Replaces the test for a successful status. */
function expectValidationError(item: Item): Item {
  return {
    ...item,
    event: [testEvent([
      'pm.test("is refused and names the invalid field", () => {',
      "  const { code, errors } = pm.response.json();",
      "  pm.expect(pm.response.code).to.eql(400);",
      '  pm.expect(code).to.eql("validation_error");',
      '  pm.expect(errors[0].field).to.eql("gross_amount");',
      "});",
    ])],
  };
}
