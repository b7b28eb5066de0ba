/** Charges per second of a new sandbox, and of a sandbox with 100,000 transactions. */

import { createDataFolder } from "../tests/support/project.ts";
import { median, perSecond, ratio } from "./support/figures.ts";
import { post, requestsPerSecond } from "./support/load.ts";
import { type Program, startProgram } from "./support/program.ts";

const ROUNDS = 7;
const CONNECTIONS = 16;
const MANY = 100_000;
/** Enough for the JIT compiler to optimize the code, and few compared with `MANY`. */
const WARM_UP = 3_000;
const MEASURED = 5_000;

await using folder = await createDataFolder();
let count = 0;

async function startSandbox(name: string): Promise<Program> {
  const path = `${folder.path}/${name}`;
  // The same permissions as in the sandbox's task, except for the folder.
  const permissions = [
    "--allow-net",
    "--ignore-env",
    `--allow-read=${folder.path}`,
    "--ignore-read",
    `--allow-write=${folder.path}`,
  ];
  const args = ["--port", "0", "--data", `${path}.sqlite`];
  return await startProgram(`${path}.log`, ["run", ...permissions, "sandbox/main.ts", ...args]);
}

async function charge({ url }: Program, requests: number): Promise<number> {
  const headers = { Authorization: `Basic ${btoa("SB-Mid-server-sandbox:")}` };
  const rate = await requestsPerSecond({
    url,
    connections: CONNECTIONS,
    seconds: 120,
    requests,
    first: count,
    request: (n) =>
      post(`${url}v2/charge`, headers, {
        payment_type: "bank_transfer",
        transaction_details: {
          order_id: `order-${String(n).padStart(9, "0")}`,
          gross_amount: 44000,
        },
        bank_transfer: { bank: "bca" },
        customer_details: { first_name: "Budi", email: "budi@example.com" },
        item_details: [{ id: "1", name: "Coffee", price: 22000, quantity: 2 }],
      }),
  });
  count += requests + CONNECTIONS;
  return rate;
}

await using full = await startSandbox("full");
await charge(full, MANY);
const measured = { empty: [] as number[], full: [] as number[] };
for (let round = 0; round < ROUNDS; round++) {
  await using empty = await startSandbox(`empty${round}`);
  await charge(empty, WARM_UP);
  // The new sandbox goes first in even rounds, the full one in odd rounds.
  const order = round % 2 === 0 ? ["empty", "full"] as const : ["full", "empty"] as const;
  for (const name of order) {
    measured[name].push(await charge(name === "empty" ? empty : full, MEASURED));
  }
}

const least = Math.min(median(measured.empty), median(measured.full));
console.log(`new sandbox               ${perSecond(measured.empty, "charges")}`);
console.log(
  `with ${MANY.toLocaleString("en")} transactions ${perSecond(measured.full, "charges")}`,
);
console.log(
  `ratio                     ${ratio(measured.full, measured.empty)} (goal: at least 0.80)`,
);
console.log(
  `goal                      at least 3,000 charges/s: ${least >= 3000 ? "met" : "missed"}`,
);
