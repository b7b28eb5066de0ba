import assert from "node:assert/strict";
import { type Operation, OPERATIONS } from "../../proofs/fuzz/document.ts";
import { fuzz } from "../../proofs/fuzz/fuzz.ts";
import { type Answer, judge, type JudgeSource } from "../../proofs/fuzz/judge.ts";
import { Pool } from "../../proofs/fuzz/pool.ts";
import { Report } from "../../proofs/fuzz/report.ts";
import {
  createRequest,
  type FuzzRequest,
  type RequestSource,
  type Role,
} from "../../proofs/fuzz/requests.ts";
import { curlOf } from "../../proofs/fuzz/send.ts";
import { NO_DATABASE, startFuzzedService } from "../../proofs/fuzz/service.ts";
import { shorten } from "../../proofs/fuzz/shorten.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { runTask } from "../support/service.ts";
import { isPartial } from "../support/share.ts";

const KEY = `gk_${"k".repeat(43)}`;
const ID = "01a1f037-75cd-7464-b354-7cb7bc664f24";
const REQUEST_ID = "e90f240b-03fa-40b9-b3ab-f94c8118fefc";

const USERS: Partial<Record<Role, string>> = { user: "alice", other: "bob" };
const userOf = (role: Role) => USERS[role] ?? null;

const source: JudgeSource = {
  pool: { ownerOf: (id) => id === ID ? "bob" : undefined },
  userOf,
  keys: [KEY],
};

function operation(id: string): Operation {
  return OPERATIONS.find((each) => each.id === id)!;
}

function request(id: string, more: Partial<FuzzRequest> = {}): FuzzRequest {
  const { method } = operation(id);
  return {
    number: 7,
    operation: operation(id),
    role: "user",
    method,
    params: { pk: REQUEST_ID },
    query: [],
    headers: {},
    body: null,
    ...more,
  };
}

function answer(status: number, body: Json, headers: Record<string, string> = {}): Answer {
  const type = status >= 400 ? "application/problem+json" : "application/json";
  return {
    status,
    headers: new Headers({ "Content-Type": type, "X-Request-Id": REQUEST_ID, ...headers }),
    text: typeof body === "string" ? body : JSON.stringify(body),
    ms: 1,
  };
}

function problem(status: number, code: string): Json {
  const about = { type: "about:blank", title: code, detail: null, instance: REQUEST_ID };
  return { ...about, status, code };
}

const CALLER = { user_id: "alice", is_staff: false, role: "user", credential: "api_key" };

/** What `getCaller` answers a user. */
const me = { ...CALLER, key_prefix: "gk_kkkkkkkk" };

async function kindsOf(of: FuzzRequest, given: Answer): Promise<string[]> {
  return (await judge(source, of, given)).map(({ kind }) => kind);
}

Deno.test("fuzz judge: finds nothing in a declared answer", async () => {
  assert.deepEqual(await judge(source, request("getCaller"), answer(200, me)), []);
});

const FAULTS: [name: string, request: FuzzRequest, answer: Answer, kind: string][] = [
  [
    "an error of the service",
    request("getPayment"),
    answer(500, problem(500, "internal_error")),
    "error of the service",
  ],
  [
    "an unavailable service",
    request("getCaller"),
    answer(503, problem(503, "unavailable"), { "Retry-After": "1" }),
    "unavailable",
  ],
  ["an undeclared status", request("getCaller"), answer(418, me), "undeclared answer"],
  [
    "an undeclared header",
    request("getCaller"),
    answer(200, me, { "X-Powered-By": "x" }),
    "undeclared answer",
  ],
  [
    "an undeclared content type",
    request("getCaller"),
    answer(200, me, { "Content-Type": "text/html" }),
    "undeclared answer",
  ],
  [
    "a member of the wrong type",
    request("getCaller"),
    answer(200, { ...me, role: 1 }),
    "schema violation",
  ],
  [
    "an undeclared member",
    request("getCaller"),
    answer(200, { ...me, more: 1 }),
    "schema violation",
  ],
  ["text that is not JSON", request("getCaller"), answer(200, "<html>"), "schema violation"],
  [
    "the id of another user's record",
    request("getCaller"),
    answer(200, { ...me, key_prefix: ID }),
    "security",
  ],
  [
    "the id of another user",
    request("getCaller"),
    answer(200, { ...me, user_id: "bob" }),
    "security",
  ],
  ["an API key", request("getCaller"), answer(200, { ...me, key_prefix: KEY }), "security"],
  [
    "success without a credential",
    request("getCaller", { role: "revoked" }),
    answer(200, me),
    "security",
  ],
  [
    "a change by a viewer",
    request("deleteKey", { role: "viewer", params: { prefix: "gk_x" } }),
    { ...answer(204, ""), headers: new Headers({ "X-Request-Id": REQUEST_ID }) },
    "security",
  ],
  [
    "success of a user with an operation for staff",
    request("deleteKey", { params: { prefix: "gk_x" } }),
    { ...answer(204, ""), headers: new Headers({ "X-Request-Id": REQUEST_ID }) },
    "security",
  ],
  ["no answer", request("getCaller"), { ...answer(0, "reset"), status: 0 }, "no answer"],
];

for (const [name, of, given, kind] of FAULTS) {
  Deno.test(`fuzz judge: finds ${name}`, async () => {
    assert.deepEqual(await kindsOf(of, given), [kind]);
  });
}

Deno.test("fuzz judge: accepts an id of another user that the request contains", async () => {
  const of = request("getPayment", { params: { pk: ID } });
  const detail = { ...problem(404, "not_found"), detail: `There is no payment ${ID}.` };
  assert.deepEqual(await kindsOf(of, answer(404, detail)), []);
});

function requestSource(seed: number): RequestSource {
  const outside = {
    receiver: "http://127.0.0.1:9/",
    cardToken: () => "token",
    savedCard: () => "saved",
    unknownTransaction: () => "order,transaction,150000.00,,,",
  };
  return { seed, pool: new Pool([]), userOf, outside, repeatable: [] };
}

function manyRequests(seed: number): FuzzRequest[] {
  const from = requestSource(seed);
  return Array.from({ length: 3_000 }, (_, number) => createRequest(from, number));
}

Deno.test("fuzz requests: depend on the seed only, and reach every operation with every role", () => {
  const requests = manyRequests(1);
  const withoutTimes = (all: FuzzRequest[]) =>
    all.map((each) => curlOf(each).replaceAll(/"expires_at":"[^"]*"/g, ""));
  assert.deepEqual(withoutTimes(requests), withoutTimes(manyRequests(1)));
  assert.notDeepEqual(withoutTimes(requests), withoutTimes(manyRequests(2)));
  assert.equal(new Set(requests.map((each) => each.operation.id)).size, OPERATIONS.length);
  assert.equal(new Set(requests.map(({ role }) => role)).size, 7);
});

Deno.test("fuzz pool: keeps records by collection, and never gives a key in use to a request", () => {
  const pool = new Pool(["gk_reserved"]);
  const keys = [{ prefix: "gk_reserved" }, { prefix: "gk_other" }];
  pool.learn(operation("listKeys"), {}, keys, { user: null });
  pool.learn(operation("createCharge"), {}, { id: ID }, { user: "bob" });
  assert.equal(pool.size("/keys/"), 1);
  assert.equal(pool.size("/payments/"), 1);
  assert.equal(pool.ownerOf(ID), "bob");
});

Deno.test("fuzz shorten: leaves only what causes the finding", async () => {
  const long = request("createCharge", {
    headers: { "Content-Type": "application/json", "X-Request-Id": "x" },
    query: ["a=1"],
    body: JSON.stringify({ gross_amount: 1, metadata: { a: "x", bad: "y" } }),
  });
  const short = await shorten(
    long,
    ({ body, headers }) => Promise.resolve(`${body}`.includes("bad") && "Content-Type" in headers),
  );
  assert.equal(
    curlOf(short),
    `curl -sS -g -X POST "$URL"'/charge/' -H "Authorization: Bearer $USER" ` +
      `-H 'Content-Type: application/json' --data-binary '{"metadata":{"bad":"y"}}'`,
  );
});

Deno.test("fuzz report: fails because of an error, and names the operations without success", () => {
  const report = new Report(2, 1);
  report.count(request("getCaller"), answer(200, me));
  assert.equal(report.hasFailed(), false);
  assert.equal(report.neverSucceeded().includes("getCaller"), false);
  assert.equal(report.neverSucceeded().includes("getPayment"), true);
  const finding = { kind: "error of the service", message: "500 internal_error" } as const;
  assert.notEqual(report.add(request("getPayment"), finding), null);
  assert.equal(report.add(request("getPayment"), finding), null);
  assert.equal(report.hasFailed(), true);
  assert.match(report.text(1), /ERROR OF THE SERVICE {2}getPayment, 2 times/);
});

Deno.test("fuzz report: says how many groups of findings it does not show", () => {
  const report = new Report(1, 1);
  for (let group = 0; group < 203; group++) {
    const message = `500 ${"x".repeat(group)}`;
    report.add(request("getPayment"), { kind: "error of the service", message });
  }
  assert.equal(report.findings().length, 200);
  assert.match(report.text(1), /^3 further groups not shown$/m);
});

const MEMORY = { resident: 2e6, used: 1e6 };

Deno.test("fuzz report: has the memory of service and sandbox in each third of the run", () => {
  const report = new Report(1, 1);
  for (const megabytes of [1, 1, 2, 4, 5, 7]) {
    const service = { used: megabytes * 1e6, resident: 9e6 };
    report.addMemory({ service, sandbox: { used: 3e6, resident: 8e6 } });
  }
  const text = report.text(1);
  assert.match(
    text,
    /^ {2}service {2}1, 3, 6 in use after garbage collections, 9, 9, 9 resident$/m,
  );
  assert.match(
    text,
    /^ {2}sandbox {2}3, 3, 3 in use after garbage collections, 8, 8, 8 resident$/m,
  );
});

Deno.test("fuzz: reports a service that is not ready, contradictions and logged errors", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using sandbox = Deno.serve(options, () => Response.json({}));
  await using readiness = Deno.serve(options, () => new Response(null, { status: 503 }));
  const keys = {
    none: null,
    invalid: KEY,
    revoked: KEY,
    user: KEY,
    other: KEY,
    viewer: KEY,
    staff: KEY,
  };
  const report = await fuzz({
    url: `http://127.0.0.1:${readiness.addr.port}`,
    sandbox: `http://127.0.0.1:${sandbox.addr.port}`,
    receiver: "http://127.0.0.1:9/",
    gatewayKeys: [],
    keys,
    userOf,
    loggedErrors: new Map([
      ["internal_error", { count: 2, first: "{}" }],
      [NO_DATABASE, { count: 1, first: "{}" }],
    ]),
    readMemory: () => Promise.resolve({ service: MEMORY, sandbox: MEMORY }),
    findContradictions: () => Promise.resolve(["payment 1 items_add_up"]),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }, { requests: 3, seed: 1 });
  assert.deepEqual(report.faults, [
    "/health/ready/ answers 503",
    "payment 1 items_add_up",
    "The service has logged internal_error 2 times: {}",
  ]);
  assert.deepEqual(report.notes, ["The service has logged DatabaseUnavailable 1 times: {}"]);
  assert.equal(report.hasFailed(), true);
});

Deno.test("fuzz: a small run finds nothing, and measures the memory of service and sandbox", async () => {
  await using service = await startFuzzedService();
  const requests = isPartial ? 200 : 2_000;
  const report = await fuzz(service, { requests, seed: 1 });
  assert.equal(report.requests, requests);
  assert.equal(report.hasFailed(), false, report.text(0));
  const { service: ofService, sandbox: ofSandbox } = await service.readMemory();
  for (const { used, resident } of [ofService, ofSandbox]) {
    assert.ok(used > 1e6 && resident > used, `${used} ${resident}`);
  }
  assert.notDeepEqual(ofService, ofSandbox);
});

Deno.test("fuzz: a wrong option ends with exit code 2 and names the option", async () => {
  for (const args of [["--requests=x"], ["--requests", "0"], ["--sed", "1"]]) {
    const { code, stderr } = await runTask(["fuzz", ...args], {});
    assert.equal(code, 2, stderr);
    assert.match(stderr, new RegExp(args[0]!.split("=")[0]!));
    assert.match(stderr, /^Usage: deno task fuzz/m);
  }
});

Deno.test("fuzz: --help prints the usage", async () => {
  const { code, stdout } = await runTask(["fuzz", "--help"], {});
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: deno task fuzz/);
});
