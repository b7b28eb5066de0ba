/** Selects the test files of a run and puts them in the order in which they start. */

import { dirname, join } from "node:path";
import { PROJECT } from "./support/project.ts";

/**
 * The slowest files, slowest first: a slow file that started last would run alone at the end. The
 * first two wait for a minute of the schedule and for the grace period of a stop.
 */
export const LONGEST = [
  "tests/jobs/service_test.ts",
  "tests/commands/lifecycle_test.ts",
  "tests/payments/crash_test.ts",
  "tests/notifications/bad_input_test.ts",
  "tests/console/screens_test.ts",
  "tests/simulation/simulation_test.ts",
  "tests/simulation/lost_notifications_test.ts",
  "tests/sandbox/lists_test.ts",
  "tests/document/reference_test.ts",
  "tests/invoices/crash_test.ts",
  "tests/sdk/sdk_test.ts",
  "tests/commands/operating_system_users_test.ts",
  "tests/db/payment_search_test.ts",
  "tests/jobs/async_crash_test.ts",
  "tests/records/lost_statements_test.ts",
  "tests/console/browser_test.ts",
  "tests/console/browser_live_test.ts",
  "tests/sandbox/page_test.ts",
  "tests/docs/guides_test.ts",
  "tests/idempotency/takeover_test.ts",
  "tests/reports/reconciliation_test.ts",
  "tests/notifications/gateway_outage_test.ts",
  "tests/db/embedded_server_test.ts",
  "tests/commands/pooler_test.ts",
  "tests/commands/keys_test.ts",
  "tests/commands/embedded_recovery_test.ts",
  "tests/sandbox/task_test.ts",
  "tests/db/embedded_platforms_test.ts",
  "tests/sdk/languages_test.ts",
  "tests/payments/bad_input_test.ts",
  "tests/payments/lost_statements_test.ts",
  "tests/console/outage_test.ts",
  "tests/jobs/postgres_test.ts",
  "tests/events/stream_resume_test.ts",
  "tests/commands/run_task_test.ts",
  "tests/commands/account_test.ts",
  "tests/document/lint_test.ts",
  "tests/jobs/takeover_test.ts",
  "tests/docs/deploy_test.ts",
  "tests/sdk/postman_test.ts",
  "tests/jobs/crash_test.ts",
  "tests/notifications/attacks_test.ts",
  "tests/webhooks/crash_test.ts",
  "tests/db/payment_filters_test.ts",
  "tests/payments/unanswered_charges_test.ts",
  "tests/payments/check_paid_payments_test.ts",
  "tests/docs/production_keys_test.ts",
  "tests/db/database_unavailable_test.ts",
  "tests/db/database_lost_test.ts",
  "tests/sandbox/input_test.ts",
  "tests/docs/production_test.ts",
  "tests/subscriptions/subscriptions_test.ts",
  "tests/records/races_test.ts",
  "tests/reports/exports_test.ts",
  "tests/notifications/delivery_conditions_test.ts",
  "tests/events/stream_test.ts",
  "tests/reports/stats_zones_test.ts",
  "tests/notifications/delivery_order_test.ts",
  "tests/db/migration_load_test.ts",
  "tests/db/instance_lock_test.ts",
  "tests/jobs/gateway_pause_sweeps_test.ts",
  "tests/sandbox/card_script_test.ts",
  "tests/payments/unknown_outcomes_test.ts",
  "tests/document/served_test.ts",
  "tests/subscriptions/life_cycles_test.ts",
  "tests/events/publisher_crash_test.ts",
  "tests/routes/raw_http_test.ts",
  "tests/webhooks/order_test.ts",
  "tests/invoices/bad_input_test.ts",
  "tests/commands/npx_test.ts",
  "tests/invoices/life_cycles_test.ts",
  "tests/idempotency/resume_test.ts",
];

/**
 * Files about packages, other languages and users of the operating system, which take long and
 * rarely fail. They run with `deno task test --full`.
 */
export const FULL_ONLY = [
  "tests/commands/npx_test.ts",
  "tests/commands/operating_system_users_test.ts",
  "tests/db/embedded_platforms_test.ts",
  "tests/sdk/languages_test.ts",
  "tests/sdk/postman_test.ts",
];

/** The files that also run through PgBouncer. Together they use each kind of statement. */
export const POOLED = [
  "tests/idempotency/keys_test.ts",
  "tests/idempotency/resume_test.ts",
  "tests/payments/types_test.ts",
  "tests/payments/actions_test.ts",
  "tests/payments/refunds_test.ts",
  "tests/payments/races_test.ts",
  "tests/payments/list_test.ts",
  "tests/payments/order_ids_test.ts",
  "tests/notifications/notifications_test.ts",
  "tests/invoices/life_cycles_test.ts",
  "tests/subscriptions/subscriptions_test.ts",
  "tests/webhooks/deliveries_test.ts",
  "tests/events/events_test.ts",
  "tests/jobs/worker_test.ts",
  "tests/jobs/lease_test.ts",
  "tests/status/status_test.ts",
];

/** The files that also run on the oldest supported version of PostgreSQL. */
export const OLDEST = [
  "tests/db/planner_test.ts",
  "tests/db/payment_filters_test.ts",
  "tests/db/migrations_test.ts",
  "tests/payments/list_test.ts",
  "tests/db/payment_search_test.ts",
  "tests/reports/repeated_lines_test.ts",
  "tests/reports/report_lines_test.ts",
];

export interface TestFiles {
  /** Files that start no other process. */
  quick: string[];
  /** Quick files that cut connections: an error in the database driver can end their process. */
  isolated: string[];
  /** Files that start processes: services, PostgreSQL servers, browsers, package tools, guides. */
  slow: string[];
}

const CUTS_CONNECTIONS = /\b(throughProxy|openGatedDatabase)\b/;

const STARTS_PROCESSES = /\bDeno\.Command\b|\bchromium\.launch\b/;

export async function selectTests(): Promise<TestFiles> {
  const readModule = createModuleReader();
  const files: TestFiles = { quick: [], isolated: [], slow: [] };
  for (const path of await findTests("tests")) {
    const isSlow = await startsProcesses(path, readModule, new Set());
    files[isSlow ? "slow" : "quick"].push(path);
    if (!isSlow && CUTS_CONNECTIONS.test((await readModule(path)).text)) files.isolated.push(path);
  }
  return { ...files, quick: longestFirst(files.quick), slow: longestFirst(files.slow) };
}

/** The test files in a folder of the project. */
export async function findTests(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(PROJECT, folder))) {
    const path = join(folder, name);
    if (isDirectory) found.push(...await findTests(path));
    else if (name.endsWith("_test.ts")) found.push(path);
  }
  return found.sort();
}

function longestFirst(paths: string[]): string[] {
  const longPaths = LONGEST.filter((path) => paths.includes(path));
  return [...longPaths, ...paths.filter((path) => !longPaths.includes(path))];
}

type ReadModule = (path: string) => Promise<{ text: string; imports: string[] }>;

/** Whether a test file, or a module that it imports directly or indirectly, starts processes. */
async function startsProcesses(
  path: string,
  readModule: ReadModule,
  seen: Set<string>,
): Promise<boolean> {
  if (seen.has(path)) return false;
  seen.add(path);
  const { text, imports } = await readModule(path);
  if (STARTS_PROCESSES.test(text)) return true;
  for (const target of imports) {
    if (await startsProcesses(target, readModule, seen)) return true;
  }
  return false;
}

function createModuleReader(): ReadModule {
  const modules = new Map<string, Promise<{ text: string; imports: string[] }>>();
  async function read(path: string) {
    const text = await Deno.readTextFile(join(PROJECT, path));
    // Type imports are not loaded, so they start nothing.
    const specifiers = text.matchAll(/^(?:import|export) (?!type )[^;]*?"(\.[^"]+\.ts)";/gm);
    return { text, imports: [...specifiers].map(([, name]) => join(dirname(path), name!)) };
  }
  return (path) => {
    const found = modules.get(path) ?? read(path);
    modules.set(path, found);
    return found;
  };
}
