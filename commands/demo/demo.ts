/**
 * Demo data: a year of a shop in the embedded default, from the button of the welcome page or with
 * `deno task demo`.
 */

import { createKey } from "../../core/auth/api_keys.ts";
import { updateStats } from "../../core/reports/count_payments.ts";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import type { Service } from "../../core/service.ts";
import { listApiKeys, revokeApiKey } from "../../db/access/api_keys.ts";
import type { Demo, DemoState } from "../../pages/demo.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { RunTick } from "../crons.ts";
import { Failure, printStatus } from "../terminal.ts";
import type { Addresses } from "./calls.ts";
import { type FillResult, fillYear } from "./fill.ts";

type Keys = Addresses["keys"];

/** The user who owns the demo's payments, and the staff member who refunds them. */
const SHOP = { userId: "toko-kopi", isStaff: false, name: "Toko Kopi" };
const STAFF = { userId: "rina", isStaff: true, name: "Rina" };

/** If a larger share of the orders, payments, refunds and so on fails, the demo has failed. */
const MAX_FAILED = 1 / 20;

const DAY = 86_400_000;

const DAYS = 365;

export interface RunningDemo extends Demo {
  /** The scheduled tasks, which do nothing in the past: they would look back at it for hours. */
  pausing(run: RunTick): RunTick;
  /** Resolves when the data is complete. */
  fill(): Promise<void>;
}

/**
 * Only the embedded default has a sandbox in its process, and so a demo. `ownUrl` is the address on
 * which this process listens: behind `PUBLIC_URL` there may be another service. `days`: for tests.
 */
export function createDemo(
  service: Service,
  sandbox: Sandbox,
  ownUrl: () => string,
  days = DAYS,
): RunningDemo {
  const { database, log } = service;
  let state: DemoState = { status: "none", percent: 0 };

  async function fill(): Promise<void> {
    if (state.status === "running") throw new Failure("The demo data is being created already.");
    // Before anything is awaited: the page that follows the button shows it.
    state = { status: "running", percent: 0 };
    let hasBegun = false;
    try {
      const stored = await readStored();
      if (stored !== "none") throw new Failure(stored === "done" ? ALREADY : INCOMPLETE);
      hasBegun = true;
      const now = service.clock();
      const keys = await createKeys();
      await sandbox.replay(now - (days + 1) * DAY, async () => {
        const onProgress = (percent: number) => state = { status: "running", percent };
        const onFailure = (error: unknown) => log.error("demo_step_failed", error);
        const addresses = { url: ownUrl(), sandboxUrl: sandbox.url };
        requireMost(await fillYear({ ...addresses, keys, days, now, onProgress, onFailure }));
      });
      await updateStats(service);
      await revokeKeys(keys);
      state = { status: "done", percent: 100 };
    } catch (error) {
      if (!(error instanceof Failure)) log.error("demo_failed", error);
      // If nothing was written yet, `state` reads again what is stored.
      state = { status: hasBegun ? "failed" : "none", percent: state.percent };
      throw error;
    }
  }

  /** The shop's key is created first and revoked last: a valid key means an incomplete demo. */
  async function readStored(): Promise<"none" | "done" | "failed"> {
    const keys = await database.query(listApiKeys, "list keys");
    const key = keys.find(({ user_id, name }) => user_id === SHOP.userId && name === SHOP.name);
    if (!key) return "none";
    return key.revoked_at ? "done" : "failed";
  }

  async function createKeys(): Promise<Keys> {
    return { shop: await createKey(database, SHOP), staff: await createKey(database, STAFF) };
  }

  /** The keys were never shown, so nothing else can use them. */
  async function revokeKeys({ shop, staff }: Keys): Promise<void> {
    for (const key of [staff, shop]) {
      await database.query((sql) => revokeApiKey(sql, displayPrefix(key)), "revoke key");
    }
  }

  return {
    fill,
    pausing: (run) => async () => {
      if (state.status !== "running") await run();
    },
    start: () => void fill().catch(() => {}),
    async state() {
      if (state.status !== "none") return state;
      const stored = await readStored();
      // `fill` may have been called meanwhile.
      return state.status === "none" ? { status: stored, percent: 0 } : state;
    },
  };
}

function requireMost({ tried, failed }: FillResult): void {
  if (failed <= tried * MAX_FAILED) return;
  throw new Failure(
    `The demo data is incomplete: ${failed} of ${tried} steps failed. The log says why ` +
      `(demo_step_failed). ${START_FRESH}`,
  );
}

const START_FRESH = "To start fresh, stop the service and delete the data folder (.data, or " +
  "DATA_DIR).";

const ALREADY = `The demo data exists already. ${START_FRESH}`;

const INCOMPLETE = "The demo data is incomplete: creating it failed or was interrupted. " +
  START_FRESH;

/** For `deno task demo`. */
export async function fillAndPrint(demo: RunningDemo | null): Promise<void> {
  if (!demo) throw new Failure(REFUSAL);
  const filled = demo.fill();
  const timer = setInterval(async () => {
    const { percent } = await demo.state();
    printStatus(`Demo data: ${percent} %`);
  }, 5_000);
  try {
    await filled;
  } finally {
    clearInterval(timer);
  }
  printStatus("The demo data is complete. Start the service, and open the console.");
}

export const REFUSAL = "Demo data is only for the embedded default: unset DATABASE_URL and " +
  "GATEWAY_SERVER_KEY. Nothing was changed.";
