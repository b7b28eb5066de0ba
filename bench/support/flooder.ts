/**
 * A program that floods the service, at a steady rate, with requests that any client can send:
 * wrong API keys, and notifications without a signature. Ends after the given time, and prints a
 * line when it begins and the number of responses by status when it ends.
 *
 * Arguments: the URL of the service, requests per second, seconds.
 */

import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../../core/secrets/api_key.ts";
import { connect } from "./caller.ts";
import { getRequest, postText } from "./load.ts";

const [url, rate, seconds] = Deno.args as [string, string, string];

/** Enough that slow responses do not lower the rate. */
const CONNECTIONS = 32;

const requests = Number(rate) * Number(seconds);
const begin = performance.now();
/** At this time the program ends, even if the service does not respond. */
const deadline = begin + Number(seconds) * 1_000 + 5_000;
const statuses: Record<string, number> = {};
let sent = 0;

console.log("FLOODING");
await Promise.race([
  Promise.all(Array.from({ length: CONNECTIONS }, sendRequests)),
  delay(deadline - performance.now()),
]);
console.log(JSON.stringify({ statuses, seconds: (performance.now() - begin) / 1_000 }));
Deno.exit(0);

async function sendRequests(): Promise<void> {
  while (sent < requests && performance.now() < deadline) {
    try {
      await sendOverConnection();
    } catch {
      count("connection lost");
      await delay(100);
    }
  }
}

async function sendOverConnection(): Promise<void> {
  using caller = await connect(url);
  while (sent < requests && performance.now() < deadline) {
    const number = sent++;
    await delay(Math.max(0, begin + number / Number(rate) * 1_000 - performance.now()));
    const head = await caller.send(buildRequest(number));
    count(head.slice("HTTP/1.1 ".length, "HTTP/1.1 ".length + 3));
  }
}

/** Each key is a new one, so that none is cached. */
function buildRequest(number: number): string {
  if (number % 2 === 0) {
    return getRequest(`${url}payments/`, { Authorization: `Bearer ${generateApiKey()}` })();
  }
  const hint = { account_id: `account-${number}`, account_status: "ENABLED", status_code: "200" };
  return postText(`${url}notification/`, {}, JSON.stringify(hint));
}

function count(status: string): void {
  statuses[status] = (statuses[status] ?? 0) + 1;
}
