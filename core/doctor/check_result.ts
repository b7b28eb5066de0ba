/** What a check of the doctor examines, and its result. */

import type { Config } from "../config/config.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { redact } from "../secrets/redact.ts";
import type { Service } from "../service.ts";
import type { Migration } from "../../db/migrations/migrate.ts";
import type { CHECK_NAMES, FINDINGS } from "./texts.ts";

/** `not_tested`: this host cannot find it out, or another check has to succeed first. */
export type CheckStatus = "ok" | "warning" | "fault" | "not_tested";

export type CheckName = keyof typeof CHECK_NAMES;

/** What was found; `texts.ts` has its sentence and the next step. */
export type Finding = keyof typeof FINDINGS;

export interface Found {
  status: CheckStatus;
  finding: Finding;
  /** Inserted into the texts. Never a secret. */
  values: Record<string, string | number>;
}

export interface CheckResult extends Found {
  check: CheckName;
}

function finder(status: CheckStatus) {
  return (finding: Finding, values: Found["values"] = {}): Found => ({ status, finding, values });
}

export const ok = finder("ok");
export const warning = finder("warning");
export const fault = finder("fault");
export const notTested = finder("not_tested");

/** Longer texts, such as a page of a proxy, do not help. */
const MAX_LENGTH = 300;

/** An error as a part of a sentence, without secrets. */
export function problemText(error: unknown): string {
  const messages: string[] = [];
  for (let each = error; each instanceof Error && messages.length < 3; each = each.cause) {
    if (!messages.includes(each.message)) messages.push(each.message);
  }
  const text = messages.length > 0 ? messages.join(": ") : String(error);
  return redact(text).replace(/\.$/, "").slice(0, MAX_LENGTH);
}

/** What the doctor examines: the parts of a running service, or those that its command opened. */
export interface Examined extends Pick<Service, "clock" | "secrets" | "poster"> {
  config: DoctorConfig;
  /** Null: it cannot be reached, and `databaseProblem` says why. */
  database: Service["database"] | null;
  databaseProblem: string | null;
  migrations: Migration[];
  /** Null without a database. */
  clockCheck: Service["clockCheck"] | null;
  gateway: GatewayClient;
  /** The public address of the service; null: unknown. */
  publicUrl: string | null;
}

/** What a check gets if its `needs` contain `database`. */
export type WithDatabase = Examined & {
  database: Service["database"];
  clockCheck: Service["clockCheck"];
};

export type DoctorConfig = Pick<
  Config,
  "databaseUrl" | "dataDir" | "gateway" | "backupTimeFile"
>;
