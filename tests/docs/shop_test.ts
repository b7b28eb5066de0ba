import assert from "node:assert/strict";
import { join } from "node:path";
import { findBrowser, launchBrowser } from "../support/browser.ts";
import { callService } from "../support/client.ts";
import { freePort } from "../support/free_port.ts";
import { createSubstitution, readGuide } from "../support/guides/guides.ts";
import {
  environment,
  preparedFolder,
  type ServiceProcess,
  startService,
} from "../support/service.ts";
import { shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

/** Orders whose customers use the page's forms without a browser. */
const ORDERS = shareOf(100, 5);

/** Orders whose customers use a browser. */
const BROWSER_ORDERS = shareOf(10, 2);

/** How many customers pay at the same time. */
const CUSTOMERS = 5;

const METHODS = ["bca_va", "qris", "gopay", "echannel", "indomaret"];

/** Far longer than the webhooks of all orders take. */
const TIMEOUT_MS = 300_000;

const BROWSER = findBrowser();

interface Shop extends AsyncDisposable {
  url: string;
  /** The orders that the shop has printed as paid so far. */
  paid(): string[];
}

/** Runs the program of the guide, with a webhook endpoint as the guide creates it. */
async function openShop(service: ServiceProcess, dataDir: string): Promise<Shop> {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const adapt = createSubstitution(service, dataDir, [port, freePort()]);
  const blocks = (await readGuide("checkout.md")).map(({ block }) => block);
  const program = blocks.find((block) => block.kind === "file" && block.name === "shop.ts")!;
  const path = join(dataDir, "shop.ts");
  await Deno.writeTextFile(path, adapt(program.text));
  const response = await callService(`${service.url}/webhook-endpoints/`, {
    method: "POST",
    headers: {
      "Authorization": `Bearer ${service.keys.staff}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ url: `${url}/webhook`, event_names: ["checkout_completed"] }),
  });
  assert.equal(response.status, 201);
  const { secret } = await response.json();
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-lock", "--allow-net", "--allow-env", path],
    env: environment({ KEY: service.keys.user, WEBHOOK_SECRET: secret }),
    clearEnv: true,
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let output = "";
  const read = (async () => {
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) output += text;
  })();
  await until("the shop is open", () => output.includes("open\n"));
  return {
    url,
    paid: () => Array.from(output.matchAll(/^paid: (\S+)$/gm), ([, orderId]) => orderId!),
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
      await read;
    },
  };
}

/** The order on the page that the customer sees. */
function orderOn(page: string): string {
  return page.match(/order-[0-9a-f-]{36}/)![0];
}

/** The customer's bank or wallet. */
async function payAtSandbox({ sandbox }: ServiceProcess, orderId: string): Promise<void> {
  const paid = await fetch(`${sandbox}/_sandbox/transactions/${orderId}/pay`, { method: "POST" });
  assert.equal(paid.status, 200, await paid.text());
}

/** Buys and pays, and sends no request after the payment. Returns the order. */
async function buy(service: ServiceProcess, shop: Shop, method: string): Promise<string> {
  const bought = await fetch(`${shop.url}/buy`, { redirect: "manual" });
  assert.equal(bought.status, 303, await bought.text());
  const link = bought.headers.get("location")!;
  const chosen = await fetch(link, { method: "POST", body: new URLSearchParams({ method }) });
  assert.equal(chosen.status, 200);
  const orderId = orderOn(await chosen.text());
  await payAtSandbox(service, orderId);
  return orderId;
}

/** The same in a browser, which is closed right after the payment. */
async function buyInBrowser(service: ServiceProcess, shop: Shop, method: string): Promise<string> {
  const browser = await launchBrowser(BROWSER!);
  try {
    const page = await browser.newPage();
    await page.goto(`${shop.url}/buy`);
    await page.locator(`button[value="${method}"]`).click();
    await page.locator(".screen-instructions").waitFor();
    const orderId = orderOn(await page.content());
    await payAtSandbox(service, orderId);
    return orderId;
  } finally {
    await browser.close();
  }
}

Deno.test("guide's shop: every paid order is reported, though no customer returns to the shop", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  await using shop = await openShop(service, folder.path);
  const orders: string[] = [];
  const methods = Array.from({ length: ORDERS }, (_, index) => METHODS[index % METHODS.length]!);
  await Promise.all(Array.from({ length: CUSTOMERS }, async () => {
    for (let method = methods.pop(); method; method = methods.pop()) {
      orders.push(await buy(service, shop, method));
    }
  }));
  for (let index = 0; BROWSER && index < BROWSER_ORDERS; index++) {
    orders.push(await buyInBrowser(service, shop, METHODS[index % METHODS.length]!));
  }
  assert.equal(new Set(orders).size, orders.length);
  const isPaid = () => new Set(shop.paid()).size === orders.length;
  await until("all orders are paid", isPaid, TIMEOUT_MS);
  assert.deepEqual(new Set(shop.paid()), new Set(orders));
});
