/**
 * Request bodies that take long to refuse: they have almost 256 KiB, or reach a limit of a route.
 */

const SIZE = 255_000;

/**
 * Every route gets bodies with unknown members. Routes that accept metadata, items or refunds also
 * get bodies that are expensive in these fields.
 */
export function worstBodies(path: string): Record<string, string> {
  const bodies: Record<string, string> = {
    "long list of objects": `{"refunds":[${fill("{},", 3)}{}]}`,
    "list of objects below the limit": `{"refunds":[${"{},".repeat(3_300)}{}]}`,
    "many members": `{${members(SIZE / 12)},"z":1}`,
    "an object of 2,500 members": `{"a":{${members(2_500)}}}`,
    "objects of 100 members": `{"a":[${Array(48).fill(`{${members(100)}}`).join(",")}]}`,
    "nested lists": `{"a":${"[".repeat(SIZE / 2)}${"]".repeat(SIZE / 2)}}`,
    "nested lists below the limit": `{"a":${"[".repeat(4_900)}${"]".repeat(4_900)}}`,
    "one long text": `{"a":"${"x".repeat(SIZE)}"}`,
    "text of escapes": `{"a":"${fill('\\"', 2)}"}`,
    "text of escapes below the limit": `{"a":"${'\\"'.repeat(44_900)}"}`,
    "fractions": `{"a":[${"1.50,".repeat(9_900)}1]}`,
    "whole numbers written with decimals": `{"a":[${"1.00,".repeat(9_900)}1]}`,
    "exponents": `{"a":[${"1e0,".repeat(9_900)}1]}`,
    "inexact numbers": `{"a":[${"1.00000000000000000001,".repeat(9_900)}1]}`,
    "inexact numbers below the limit": `{"a":[${"1.00000000000000000001,".repeat(990)}1]}`,
    "one long number": `{"a":0.${"9".repeat(SIZE)}}`,
    "white space": `{"a":${" ".repeat(SIZE)}1}`,
    "not JSON": `{"a":[${"1,".repeat(4_900)}`,
    ...METADATA_ROUTES.includes(path) ? metadataBodies(REQUIRED[path]!) : {},
  };
  if (path === "/charge/") Object.assign(bodies, itemBodies());
  if (path === "/notification/") Object.assign(bodies, notificationBodies());
  return bodies;
}

const METADATA_ROUTES = ["/charge/", "/invoices/", "/subscriptions/"];

const REQUIRED: Record<string, string> = {
  "/charge/": `"payment_type":"gopay","gross_amount":1`,
  "/invoices/": `"customer_name":"B","due_date":"2099-12-31","items":[{"description":"A"}]`,
  "/subscriptions/": `"name":"a"`,
};

function metadataBodies(required: string): Record<string, string> {
  const metadata = (text: string) => `{${required},"metadata":${text}}`;
  return {
    "metadata with many members": metadata(`{${members(SIZE / 12)}}`),
    "metadata with 2,490 members": metadata(`{${members(2_490)}}`),
    "metadata with a long list": metadata(`{"a":[${"1,".repeat(9_900)}1]}`),
    "metadata with many objects": metadata(`{"a":[${"{},".repeat(3_300)}{}]}`),
    "metadata with a long text": metadata(`{"a":"${"x".repeat(SIZE - 200)}"}`),
    "metadata with nested lists": metadata(`{"a":${"[".repeat(4_900)}${"]".repeat(4_900)}}`),
  };
}

function itemBodies(): Record<string, string> {
  const charge = (items: unknown[], more = {}) =>
    JSON.stringify({ payment_type: "gopay", gross_amount: 7, item_details: items, ...more });
  const item = { id: "a", name: "a", price: 1, quantity: 1, brand: "a", category: "a" };
  const full = { ...item, merchant_name: "a", url: "a" };
  const wrong = Object.fromEntries(Object.keys(full).map((name) => [name, ""]));
  const akulaku = {
    payment_type: "akulaku",
    customer_details: { first_name: "a", email: "a@b", phone: "1" },
  };
  return {
    "1,000 items with a wrong total": charge(Array(1_000).fill(full)),
    "1,000 invalid items": charge(Array(1_000).fill(wrong)),
    "900 items, then invalid ones": charge([...Array(900).fill(full), ...Array(100).fill(wrong)]),
    "1,000 items with the same id": charge(Array(1_000).fill(full), akulaku),
    "1,000 items with different ids": charge(
      Array.from({ length: 1_000 }, (_, index) => ({ ...full, id: `a${index}` })),
      akulaku,
    ),
    "1,000 items and metadata": charge(Array(1_000).fill(item), {
      metadata: JSON.parse(`{${members(2_490)}}`),
    }),
    "too many items": charge(Array(3_000).fill({})),
    "items with null": charge(Array(1_000).fill({ ...full, url: null })),
  };
}

function notificationBodies(): Record<string, string> {
  const signed = `"order_id":"a","transaction_status":"settlement","status_code":"200",` +
    `"gross_amount":"1.00","signature_key":"${"a".repeat(128)}"`;
  return {
    "long list of refunds": `{${signed},"refunds":[${fill("{},", 3)}{}]}`,
    "refunds below the limit": `{${signed},"refunds":[${"{},".repeat(3_300)}{}]}`,
    "long signature": `{${signed},"signature_key":"${"a".repeat(SIZE - 300)}"}`,
    "long order id": `{${signed},"order_id":"${"a".repeat(SIZE - 300)}"}`,
  };
}

function fill(text: string, length: number): string {
  return text.repeat(SIZE / length);
}

function members(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":1`).join(",");
}
