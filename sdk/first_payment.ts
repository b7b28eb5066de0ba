/** The folder to begin with: requests to run one after the other, which tell whether it went. */

import { type Folder, type Item, testEvent } from "./collection_parts.ts";

interface Changes {
  body?: object;
  query?: Record<string, string>;
  /** Looks further at the answer, or keeps something of it. */
  test?: string[];
}

const GOPAY = { payment_type: "gopay", gross_amount: 44_000 };

/** Its parts are the collection's own requests, by the names of their operations. */
export function firstPayment(operations: Map<string, Item>): Folder {
  const step = (operationId: string, name: string, changes: Changes = {}) =>
    changed({ ...operations.get(operationId)!, name }, changes);
  return {
    name: "A first payment",
    description: "Set the variable `apiKey`, and run this folder against a service with the " +
      "sandbox (`sandboxUrl`): a charge is made and cancelled, another is made, paid, and paid " +
      "back in part; both are found in the list, and a mistake is refused.",
    item: [
      step("createCharge", "Create a charge"),
      step("cancelPayment", "Cancel it"),
      step("createCharge", "Create a charge that can be refunded", {
        body: GOPAY,
        test: ['pm.collectionVariables.set("order_id", pm.response.json().order_id);'],
      }),
      pay(),
      step("checkPaymentStatus", "See that it is paid", {
        test: expecting("settled", 'json.payment.transaction_status).to.eql("settlement")'),
      }),
      step("refundPayment", "Refund a part", {
        body: { amount: 4_000, reason: "Too late" },
        test: expecting("refunded", 'json.refund.amount).to.eql("4000.00")'),
      }),
      step("getPayment", "Read it", {
        test: expecting("in part", 'json.transaction_status).to.eql("partial_refund")'),
      }),
      step("listPayments", "List payments, one to a page", {
        query: { limit: "1" },
        test: [
          ...expecting("it comes first", 'json[0].id).to.eql(pm.variables.get("payment_id"))'),
          'pm.test("there is a next page", () => {',
          '  const [, cursor] = pm.response.headers.get("Link").match(/[?&]cursor=([^&>]+)/);',
          '  pm.collectionVariables.set("next_cursor", decodeURIComponent(cursor));',
          "});",
        ],
      }),
      step("listPayments", "List the next page", {
        query: { limit: "1", cursor: "{{next_cursor}}" },
        test: expecting("another", 'json[0].id).not.to.eql(pm.variables.get("payment_id"))'),
      }),
      refused(step("createCharge", "Make a mistake", { body: { ...GOPAY, gross_amount: -1 } })),
    ],
  };
}

/** What the customer does, by the sandbox: no part of the service, nor any business of its key. */
function pay(): Item {
  const path = ["_sandbox", "transactions", "{{order_id}}", "pay"];
  const url = { host: ["{{sandboxUrl}}"], path };
  return {
    name: "Pay it, as the customer",
    request: { method: "POST", url, header: [], auth: { type: "noauth" } },
    response: [],
    event: [testEvent([
      'pm.test("paid", () => {',
      "  pm.expect(pm.response.code).to.eql(200);",
      "});",
    ])],
  };
}

function changed(item: Item, { body, query, test = [] }: Changes): Item {
  const { request, event = [] } = item;
  const raw = body && JSON.stringify(body, null, 2);
  const asked = request.url.query?.map((each) => {
    const value = query?.[each.key];
    return value === undefined ? each : { ...each, value, disabled: false };
  });
  return {
    ...item,
    request: {
      ...request,
      url: { ...request.url, query: asked },
      body: raw ? { ...request.body, raw } : request.body,
    },
    // One for all: Postman shows no second.
    event: [testEvent([...event.flatMap(({ script }) => script.exec), ...test])],
  };
}

function expecting(what: string, expectation: string): string[] {
  return [
    `pm.test("${what}", () => {`,
    "  const json = pm.response.json();",
    `  pm.expect(${expectation};`,
    "});",
  ];
}

/** In place of the test that it is answered well. */
function refused(item: Item): Item {
  return {
    ...item,
    event: [testEvent([
      'pm.test("refused, with the field that is wrong", () => {',
      "  const { code, errors } = pm.response.json();",
      "  pm.expect(pm.response.code).to.eql(400);",
      '  pm.expect(code).to.eql("validation_error");',
      '  pm.expect(errors[0].field).to.eql("gross_amount");',
      "});",
    ])],
  };
}
