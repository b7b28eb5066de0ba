/** Sends random requests to every operation of a running service, and judges each answer. */

import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import { createCustomer, type Customer } from "./customer.ts";
import { type Answer, type Finding, judge } from "./judge.ts";
import { OPERATIONS } from "./document.ts";
import { Pool } from "./pool.ts";
import { groupKey, Report } from "./report.ts";
import { createRequest, type FuzzRequest, type RequestSource } from "./requests.ts";
import { send } from "./send.ts";
import { type FuzzedService, NO_DATABASE } from "./service.ts";
import { shorten } from "./shorten.ts";
import { chance } from "./values.ts";

export interface FuzzOptions {
  requests: number;
  seed: number;
  /** Called before each request, with the number of requests so far. */
  onProgress?: (sent: number) => void;
}

interface Run extends RequestSource {
  /** All keys of the run, and the gateway's. */
  keys: readonly string[];
  service: FuzzedService;
  customer: Customer;
  report: Report;
}

/** More would not make a machine with two cores faster, only its answers slower. */
const CONNECTIONS = 4;

const SAMPLES = 30;

/** In this percentage of cases, the customer acts on a record that a response returned. */
const ACT_PERCENT = 35;

const GET_PAYMENT: FuzzRequest = {
  number: 0,
  role: "staff",
  params: {},
  operation: OPERATIONS.find(({ id }) => id === "getPayment")!,
  method: "GET",
  query: [],
  headers: {},
  body: null,
};

const PREFIX_LENGTH = "gk_".length + 8;

export async function fuzz(service: FuzzedService, options: FuzzOptions): Promise<Report> {
  const { requests, seed, onProgress } = options;
  const keys = Object.values(service.keys).filter((key) => key !== null);
  const customer = await createCustomer(service.sandbox, service.receiver);
  const run: Run = {
    service,
    customer,
    report: new Report(requests, seed),
    seed,
    pool: new Pool(keys.map((key) => key.slice(0, PREFIX_LENGTH))),
    userOf: service.userOf,
    outside: customer,
    repeatable: [],
    keys: [...keys, ...service.gatewayKeys],
  };
  const every = Math.max(1, Math.floor(requests / SAMPLES));
  let next = 0;
  async function sendRequests() {
    while (next < requests) {
      const number = next++;
      if (number % every === 0) run.report.addMemory(await service.readMemory());
      onProgress?.(number);
      await sendOne(run, number);
    }
  }
  async function sendUntilError() {
    await sendRequests().catch((error) => {
      // The service or the sandbox has crashed.
      next = requests;
      run.report.faults.push(`The run ended early: ${(error as Error).message}`);
    });
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, sendUntilError));
  await checkEnd(run).catch((error) => {
    run.report.faults.push(`The end could not be checked: ${(error as Error).message}`);
  });
  for (const [event, { count, first }] of service.loggedErrors) {
    const list = event === NO_DATABASE ? run.report.notes : run.report.faults;
    list.push(`The service has logged ${event} ${count} times: ${first}`);
  }
  return run.report;
}

async function sendOne(run: Run, number: number): Promise<void> {
  const { service, customer, report, pool } = run;
  const request = createRequest(run, number);
  const random = createRandom(seededState(Math.imul(number, 0x9e3779b1) ^ run.seed));
  await customer.prepare(random, request.operation.id);
  const answer = await send(service, request);
  report.count(request, answer);
  for (const finding of await judge(run, request, answer)) await add(run, request, finding);
  if (answer.status === 404 && request.role === "staff") {
    pool.forget(request.operation, request.params);
  }
  const body = successOf(request, answer);
  if (body === undefined) return;
  pool.learn(request.operation, request.params, body, {
    user: run.userOf(request.role),
    // The cursors of filtered lists are valid with the same filters only.
    link: request.query.length === 0 ? answer.headers.get("Link") : null,
  });
  if (request.method === "GET" || !body?.id || !chance(random, ACT_PERCENT)) return;
  await customer.act(random, body);
  if (body.transaction_id) await learnPayment(run, body.id);
}

/** The body of a successful answer in JSON; undefined if it is another answer. */
function successOf(request: FuzzRequest, { status, headers, text }: Answer): Json {
  if (status < 200 || status > 299 || request.method !== request.operation.method) return undefined;
  if (status === 204) return null;
  return headers.get("Content-Type") === "application/json" ? JSON.parse(text) : undefined;
}

/** After the customer has acted, other actions are allowed. Staff see those of staff, too. */
async function learnPayment({ service, pool }: Run, id: string): Promise<void> {
  const params = { pk: id };
  const answer = await send(service, { ...GET_PAYMENT, params });
  if (answer.status !== 200) return;
  pool.learn(GET_PAYMENT.operation, params, JSON.parse(answer.text), { user: null });
}

/** Only the first finding of a group is shortened, because that sends many requests. */
async function add(run: Run, request: FuzzRequest, finding: Finding): Promise<void> {
  const found = run.report.add(request, finding);
  if (found === null) return;
  const key = groupKey(request, finding);
  found.request = await shorten(request, async (shorter) => {
    const findings = await judge(run, shorter, await send(run.service, shorter));
    return findings.some((each) => groupKey(shorter, each) === key);
  });
}

async function checkEnd({ service, report }: Run): Promise<void> {
  const response = await fetch(`${service.url}/health/ready/`);
  if (response.status !== 200) report.faults.push(`/health/ready/ answers ${response.status}`);
  await response.body?.cancel();
  report.faults.push(...await service.findContradictions());
}
