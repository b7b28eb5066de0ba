/** Selects the test files of a run and puts them in the order in which they start. */

import { dirname, join } from "node:path";
import { PROJECT } from "./support/project.ts";

/**
 * Roughly how many seconds the slowest files take on a busy machine. The longest groups of files
 * start first: a long one that started last would run alone at the end.
 */
export const SECONDS: Record<string, number> = {
  "tests/commands/lifecycle_test.ts": 126,
  "tests/db/failover_test.ts": 124,
  "tests/sdk/languages_test.ts": 120,
  "tests/docs/guides_test.ts": 93,
  "tests/reports/reconciliation_test.ts": 79,
  "tests/sdk/package_test.ts": 78,
  "tests/attention/check_invariants_test.ts": 76,
  "tests/notifications/gateway_outage_test.ts": 76,
  "tests/commands/embedded_recovery_test.ts": 72,
  "tests/commands/keys_test.ts": 64,
  "tests/docs/restoring_test.ts": 64,
  "tests/commands/operating_system_users_test.ts": 60,
  "tests/console/browser_live_test.ts": 60,
  "tests/db/embedded_platforms_test.ts": 60,
  "tests/jobs/instances_test.ts": 60,
  "tests/pay/screens_test.ts": 60,
  "tests/simulation/lost_notifications_test.ts": 59,
  "tests/subscriptions/life_cycles_test.ts": 58,
  "tests/pay/running_screens_test.ts": 55,
  "tests/invoices/life_cycles_test.ts": 51,
  "tests/payments/check_paid_payments_test.ts": 51,
  "tests/proofs/chaos_test.ts": 49,
  "tests/doctor/faults_test.ts": 47,
  "tests/payments/unanswered_charges_test.ts": 45,
  "tests/db/asynchronous_failover_test.ts": 45,
  "tests/payments/edges_test.ts": 44,
  "tests/records/races_test.ts": 44,
  "tests/document/reference_browser_test.ts": 40,
  "tests/docs/deploy_test.ts": 43,
  "tests/db/database_unavailable_test.ts": 42,
  "tests/pay/methods_test.ts": 42,
  "tests/sandbox/page_test.ts": 41,
  "tests/events/stream_resume_test.ts": 40,
  "tests/commands/verify_test.ts": 40,
  "tests/pay/changes_test.ts": 40,
  "tests/pay/interruptions_test.ts": 40,
  "tests/sdk/postman_test.ts": 40,
  "tests/sandbox/snap_page_test.ts": 40,
  "tests/commands/run_task_test.ts": 39,
  "tests/console/browser_test.ts": 38,
  "tests/document/document_test.ts": 38,
  "tests/sandbox/task_test.ts": 38,
  "tests/document/compatibility_test.ts": 37,
  "tests/checkouts/crash_test.ts": 37,
  "tests/proofs/fuzz_test.ts": 35,
  "tests/db/embedded_server_test.ts": 34,
  "tests/db/instance_lock_test.ts": 33,
  "tests/idempotency/keys_test.ts": 33,
  "tests/idempotency/resume_test.ts": 33,
  "tests/notifications/bad_input_test.ts": 33,
  "tests/console/screens_test.ts": 33,
  "tests/jobs/takeover_test.ts": 33,
  "tests/db/database_lost_test.ts": 32,
  "tests/payments/adoption_test.ts": 32,
  "tests/docs/production_backup_test.ts": 32,
  "tests/docs/installed_test.ts": 32,
  "tests/idempotency/takeover_test.ts": 32,
  "tests/sandbox/snap_script_test.ts": 32,
  "tests/idempotency/lost_keys_test.ts": 31,
  "tests/jobs/async_calls_test.ts": 31,
  "tests/jobs/gateway_pause_sweeps_test.ts": 31,
  "tests/notifications/attacks_test.ts": 31,
  "tests/docs/production_keys_test.ts": 31,
  "tests/doctor/command_test.ts": 31,
  "tests/checkouts/cards_test.ts": 30,
  "tests/checkouts/interrupted_changes_test.ts": 30,
  "tests/db/payment_search_test.ts": 30,
  "tests/webhooks/deliveries_test.ts": 30,
  "tests/payments/unknown_outcomes_test.ts": 29,
  "tests/status/alerts_test.ts": 29,
  "tests/db/planner_test.ts": 28,
  "tests/webhooks/order_test.ts": 28,
  "tests/commands/account_test.ts": 28,
  "tests/db/migrations_test.ts": 28,
  "tests/reports/report_lines_test.ts": 27,
  "tests/commands/demo_test.ts": 27,
  "tests/console/outage_test.ts": 27,
  "tests/jobs/service_test.ts": 27,
  "tests/payments/actions_test.ts": 26,
  "tests/webhooks/post_memory_test.ts": 26,
  "tests/pay/cards_test.ts": 25,
  "tests/notifications/delivery_conditions_test.ts": 25,
  "tests/notifications/notifications_test.ts": 25,
  "tests/simulation/simulation_test.ts": 25,
  "tests/payments/crash_test.ts": 25,
  "tests/pay/card_failures_test.ts": 25,
  "tests/events/stream_load_test.ts": 24,
  "tests/payments/apply_report_test.ts": 24,
  "tests/commands/read_commit_test.ts": 24,
  "tests/invoices/attacks_test.ts": 23,
  "tests/records/lost_statements_test.ts": 23,
  "tests/sandbox/refunds_test.ts": 23,
  "tests/db/several_servers_test.ts": 23,
  "tests/db/migration_load_test.ts": 22,
  "tests/events/events_test.ts": 22,
  "tests/invoices/crash_test.ts": 22,
  "tests/pay/live_test.ts": 22,
  "tests/simulation/clocks_test.ts": 22,
  "tests/commands/pooler_test.ts": 21,
  "tests/events/stream_test.ts": 21,
  "tests/db/payment_filters_test.ts": 21,
  "tests/attention/missing_notifications_test.ts": 20,
  "tests/auth/viewer_test.ts": 20,
  "tests/payments/find_test.ts": 20,
  "tests/commands/npx_test.ts": 20,
  "tests/db/read_only_test.ts": 20,
  "tests/jobs/async_crash_test.ts": 20,
  "tests/sandbox/memory_test.ts": 20,
  "tests/sandbox/restart_test.ts": 20,
  "tests/payments/races_test.ts": 19,
  "tests/reports/reconciliation_races_test.ts": 19,
  "tests/webhooks/disabled_test.ts": 19,
  "tests/webhooks/post_test.ts": 19,
  "tests/console/safety_test.ts": 18,
  "tests/notifications/delivery_order_test.ts": 18,
  "tests/payments/lost_statements_test.ts": 18,
  "tests/sandbox/input_test.ts": 18,
  "tests/webhooks/crash_test.ts": 18,
  "tests/checkouts/changes_test.ts": 17,
  "tests/payments/bad_input_test.ts": 17,
  "tests/payments/refunds_test.ts": 17,
  "tests/webhooks/retries_test.ts": 17,
  "tests/db/trigram_index_test.ts": 17,
  "tests/mail/service_test.ts": 17,
  "tests/document/examples_test.ts": 16,
  "tests/subscriptions/subscriptions_test.ts": 16,
  "tests/document/lint_test.ts": 16,
  "tests/document/served_test.ts": 16,
  "tests/events/positions_test.ts": 15,
  "tests/invoices/unknown_outcomes_test.ts": 15,
  "tests/jobs/postgres_test.ts": 15,
  "tests/attention/invariants_test.ts": 14,
  "tests/console/session_end_test.ts": 14,
  "tests/console/webhooks_test.ts": 14,
  "tests/db/locked_row_test.ts": 14,
  "tests/document/request_examples_test.ts": 14,
  "tests/payments/secrets_test.ts": 14,
  "tests/db/ssl_mode_test.ts": 14,
  "tests/sandbox/lists_test.ts": 14,
  "tests/jobs/worker_test.ts": 13,
  "tests/routes/list_filters_test.ts": 13,
  "tests/routes/load_test.ts": 13,
  "tests/subscriptions/recurring_notifications_test.ts": 13,
  "tests/commands/drain_test.ts": 13,
  "tests/console/payments_test.ts": 12,
  "tests/jobs/retention_test.ts": 12,
  "tests/payments/types_test.ts": 12,
  "tests/reports/take_over_test.ts": 12,
  "tests/commands/permissions_test.ts": 12,
  "tests/db/pooler_test.ts": 12,
  "tests/jobs/crash_test.ts": 12,
  "tests/jobs/shared_limits_test.ts": 12,
  "tests/reports/exports_test.ts": 12,
  "tests/attention/attention_test.ts": 11,
  "tests/db/batched_test.ts": 11,
  "tests/db/upgrade_from_preview_test.ts": 11,
  "tests/jobs/async_postponed_test.ts": 11,
  "tests/jobs/fairness_test.ts": 11,
  "tests/mail/mail_test.ts": 11,
  "tests/payments/clock_skew_test.ts": 11,
  "tests/payments/dana_test.ts": 11,
  "tests/payments/gateway_outage_test.ts": 11,
  "tests/sandbox/cards_test.ts": 11,
  "tests/docs/shop_test.ts": 11,
  "tests/console/forms_test.ts": 10,
  "tests/idempotency/every_operation_test.ts": 10,
  "tests/payments/list_test.ts": 10,
  "tests/payments/unrecognized_status_test.ts": 10,
  "tests/sandbox/operations_test.ts": 10,
  "tests/sandbox/subscriptions_test.ts": 10,
  "tests/events/publisher_crash_test.ts": 10,
  "tests/console/checkouts_test.ts": 9,
  "tests/console/differences_test.ts": 9,
  "tests/jobs/queues_test.ts": 9,
  "tests/payments/refunds_unknown_test.ts": 9,
  "tests/reports/totals_test.ts": 9,
  "tests/db/upgrade_test.ts": 9,
  "tests/routes/raw_http_test.ts": 9,
  "tests/console/overview_test.ts": 8,
  "tests/console/payment_page_test.ts": 8,
  "tests/console/reconciliation_test.ts": 8,
  "tests/console/timeline_test.ts": 8,
  "tests/events/skipped_test.ts": 8,
  "tests/gateway/mask_test.ts": 8,
  "tests/payments/reviews_test.ts": 8,
  "tests/payments/search_limits_test.ts": 8,
  "tests/reports/repeated_lines_test.ts": 8,
  "tests/sandbox/charges_test.ts": 8,
  "tests/status/prometheus_test.ts": 8,
  "tests/status/status_test.ts": 8,
  "tests/webhooks/publication_test.ts": 8,
  "tests/document/introduction_test.ts": 8,
  "tests/status/metrics_test.ts": 8,
  "tests/sandbox/card_script_test.ts": 8,
};

/** The seconds of a file that is not in the list. */
const OTHER_SECONDS = 3;

/** Files that take longer are left out of `deno task test:quick`. */
const QUICK_SECONDS = 8;

/** Tests that take ten minutes with `--full`. */
const FULL_SECONDS: Record<string, number> = { "tests/jobs/instances_test.ts": 640 };

export function secondsOf(path: string, { isFull = false } = {}): number {
  return (isFull ? FULL_SECONDS[path] : undefined) ?? SECONDS[path] ?? OTHER_SECONDS;
}

/**
 * Files about packages, images, tools for development, other languages, memory and users of the
 * operating system, which take long and rarely fail, and second proofs. They run with
 * `deno task test --full`.
 */
export const FULL_ONLY = [
  // `tests/db/embedded_server_test.ts` restarts the server without the service.
  "tests/commands/embedded_recovery_test.ts",
  "tests/commands/demo_test.ts",
  "tests/commands/npx_test.ts",
  "tests/commands/operating_system_users_test.ts",
  // `tests/db/pooler_test.ts` and the files of `POOLED` use poolers without a service.
  "tests/commands/pooler_test.ts",
  "tests/commands/verify_test.ts",
  // `tests/console/browser_test.ts` shows changes without a reload.
  "tests/console/browser_live_test.ts",
  "tests/console/outage_test.ts",
  "tests/db/asynchronous_failover_test.ts",
  "tests/db/embedded_platforms_test.ts",
  "tests/docs/containers_test.ts",
  "tests/docs/installed_test.ts",
  // `tests/docs/restoring_test.ts` restores a dump, too.
  "tests/docs/production_backup_test.ts",
  "tests/docs/production_keys_test.ts",
  "tests/document/lint_test.ts",
  // A browser needs ten seconds of processor time to show the reference.
  "tests/document/reference_browser_test.ts",
  // `tests/jobs/instances_test.ts` and `tests/proofs/chaos_test.ts` kill services, too.
  "tests/events/publisher_crash_test.ts",
  "tests/invoices/crash_test.ts",
  "tests/webhooks/crash_test.ts",
  "tests/simulation/clocks_test.ts",
  "tests/proofs/interrupted_test.ts",
  // `tests/checkouts/cards_test.ts` has the same cases without a browser.
  "tests/pay/card_failures_test.ts",
  // `tests/pay/cards_test.ts` pays on the pages of the sandbox.
  "tests/sandbox/card_script_test.ts",
  "tests/sandbox/lists_test.ts",
  "tests/sandbox/page_test.ts",
  "tests/sandbox/snap_page_test.ts",
  "tests/sandbox/snap_script_test.ts",
  "tests/sandbox/task_test.ts",
  // `tests/pay/screens_test.ts` shows the same screens without the service.
  "tests/pay/running_screens_test.ts",
  "tests/sdk/languages_test.ts",
  "tests/sdk/package_test.ts",
  "tests/sdk/postman_test.ts",
  "tests/webhooks/post_memory_test.ts",
];

/** The files that also run through PgBouncer: they use keys, jobs and leases. */
export const POOLED = [
  "tests/idempotency/keys_test.ts",
  "tests/jobs/lease_test.ts",
];

/** With `--full`, these run through PgBouncer as well: together all use each kind of statement. */
export const MORE_POOLED = [
  "tests/notifications/notifications_test.ts",
  "tests/webhooks/deliveries_test.ts",
  "tests/payments/types_test.ts",
  "tests/payments/actions_test.ts",
  "tests/payments/refunds_test.ts",
  "tests/payments/list_test.ts",
  "tests/checkouts/api_test.ts",
  "tests/idempotency/resume_test.ts",
  "tests/payments/races_test.ts",
  "tests/payments/order_ids_test.ts",
  "tests/invoices/life_cycles_test.ts",
  "tests/subscriptions/subscriptions_test.ts",
  "tests/events/events_test.ts",
  "tests/jobs/worker_test.ts",
  "tests/status/status_test.ts",
];

/** What also runs on the oldest supported version of PostgreSQL. */
export const OLDEST = ["tests/db/migrations_test.ts"];

/** With `--full`, these run on the oldest version as well. */
export const MORE_OLDEST = [
  "tests/db/payment_search_test.ts",
  "tests/reports/report_lines_test.ts",
  "tests/db/planner_test.ts",
  "tests/db/payment_filters_test.ts",
  "tests/payments/list_test.ts",
  "tests/reports/repeated_lines_test.ts",
];

export interface TestFiles {
  /** Files that start no other process. */
  quick: string[];
  /**
   * Files that need a process of their own: quick files that cut connections, because an error in
   * the database driver can end their process, and files with `beforeAll`, because what that starts
   * runs until all tests of the process have ended.
   */
  isolated: string[];
  /** Files that start processes: services, PostgreSQL servers, browsers, package tools, guides. */
  slow: string[];
}

const CUTS_CONNECTIONS = /\b(throughProxy|openGatedDatabase)\b/;

const HAS_SETUP = /\bDeno\.test\.beforeAll\b/;

const STARTS_PROCESSES = /\bDeno\.Command\b|\bchromium\.launch\b/;

export async function selectTests(): Promise<TestFiles> {
  const readModule = createModuleReader();
  const files: TestFiles = { quick: [], isolated: [], slow: [] };
  for (const path of await findTests("tests")) {
    const isSlow = await startsProcesses(path, readModule, new Set());
    files[isSlow ? "slow" : "quick"].push(path);
    const { text } = await readModule(path);
    const isIsolated = !isSlow && CUTS_CONNECTIONS.test(text) || HAS_SETUP.test(text);
    if (isIsolated) files.isolated.push(path);
  }
  return files;
}

/** Whether a file belongs to `deno task test:quick`, if it starts no other process. */
export function isQuick(path: string): boolean {
  return secondsOf(path) <= QUICK_SECONDS;
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
