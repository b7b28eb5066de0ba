/** Runs all checks of the doctor, one after the other. */

import type { ConfigError } from "../config/problems.ts";
import type { CheckName, CheckResult, Examined, Found, WithDatabase } from "./check_result.ts";
import { fault, notTested, ok, problemText } from "./check_result.ts";
import {
  checkAccount,
  checkClocks,
  checkDashboardUrl,
  checkDatabase,
  checkDatabaseWrites,
  checkPooling,
  checkPrivileges,
  checkReplication,
  checkSearch,
} from "./database_checks.ts";
import { checkGateway, checkKeys, checkMethods } from "./gateway_checks.ts";
import { checkBodySize, checkNotification, checkPublicUrl, checkStream } from "./public_checks.ts";
import {
  checkBackup,
  checkCrons,
  checkDisk,
  checkJobs,
  checkPublisher,
  checkWebhooks,
} from "./work_checks.ts";

interface Check {
  name: CheckName;
  /** These have to be ok first. Checks with a database need at least `database`. */
  needs: CheckName[];
  /** `WithDatabase` if `needs` has `database`. */
  run(examined: WithDatabase): Found | Promise<Found>;
}

const CHECKS: Check[] = [
  { name: "settings", needs: [], run: () => ok("settings_ok") },
  { name: "keys", needs: [], run: checkKeys },
  { name: "database", needs: [], run: checkDatabase },
  { name: "privileges", needs: ["database"], run: checkPrivileges },
  { name: "pooling", needs: ["database"], run: checkPooling },
  { name: "search", needs: ["database"], run: checkSearch },
  { name: "replication", needs: ["database"], run: checkReplication },
  { name: "writes", needs: ["database", "replication"], run: checkDatabaseWrites },
  { name: "account", needs: ["database"], run: checkAccount },
  { name: "gateway", needs: [], run: checkGateway },
  { name: "methods", needs: ["gateway"], run: checkMethods },
  // Runs after `gateway`, because it uses the time in that response.
  { name: "clock", needs: ["database"], run: checkClocks },
  { name: "public_url", needs: [], run: checkPublicUrl },
  { name: "notification", needs: ["writes", "public_url"], run: checkNotification },
  { name: "body_size", needs: ["notification"], run: checkBodySize },
  // Only to this installation, because a key of its database is sent.
  { name: "stream", needs: ["notification"], run: checkStream },
  { name: "dashboard_url", needs: ["database"], run: checkDashboardUrl },
  { name: "webhooks", needs: ["database"], run: checkWebhooks },
  { name: "jobs", needs: ["database"], run: checkJobs },
  { name: "crons", needs: ["database"], run: checkCrons },
  { name: "publisher", needs: ["database"], run: checkPublisher },
  { name: "disk", needs: [], run: checkDisk },
  { name: "backup", needs: [], run: checkBackup },
];

export async function runDoctor(examined: Examined): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { name, needs, run } of CHECKS) {
    const failed = needs.find((need) =>
      results.find(({ check }) => check === need)?.status !== "ok"
    );
    const found = failed
      ? notTested("blocked", { check: failed })
      : await tryToRun(() => run(examined as WithDatabase));
    results.push({ check: name, ...found });
  }
  return results;
}

async function tryToRun(run: () => Found | Promise<Found>): Promise<Found> {
  try {
    return await run();
  } catch (error) {
    return fault("check_failed", { problem: problemText(error) });
  }
}

/** The only result if settings are wrong. The error lists all of them, without their values. */
export function settingsProblem({ message }: ConfigError): CheckResult[] {
  return [{ check: "settings", ...fault("settings_wrong", { problem: message }) }];
}
