/** The settings and units of the production guide. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { GRACE_MS } from "../../../commands/serve.ts";
import { parseConfig } from "../../../core/config/config.ts";
import { createDatabase } from "../database/database.ts";
import { PROJECT } from "../project.ts";
import { blockWith, readGuide } from "./text.ts";

/** The guide's settings file with a database and secrets filled in. */
export async function settingsOfGuide(): Promise<Record<string, string>> {
  const guide = await readGuide("production.md");
  const lines = blockWith(guide, "ini", "DATABASE_URL").trim().split("\n");
  const settings = Object.fromEntries(lines.map((line) => {
    const [, name, value] = line.match(/^(\w+)="?(.*?)"?$/)!;
    return [name!, value!.replace("…", "d".repeat(43))];
  }));
  assert.ok(parseConfig(settings, "/nowhere").databaseUrl);
  return { ...settings, DATABASE_URL: await createDatabase({ template: null }) };
}

/** A file that users copy to their server. */
export function readDeployed(name: string): Promise<string> {
  return Deno.readTextFile(join(PROJECT, "deploy", name));
}

/** The values of the systemd unit, by name. */
export async function readUnit(): Promise<Map<string, string[]>> {
  const text = await readDeployed("payment-gateway.service");
  const lines = [...text.matchAll(/^(\w+)=(.*)$/gm)];
  return new Map(
    Object.entries(Object.groupBy(lines, ([, name]) => name!))
      .map(([name, values]) => [name, values!.map(([, , value]) => value!)]),
  );
}

/** The time for draining, for running requests, and for closing the connections. */
export async function secondsToStop(): Promise<number> {
  const { drainSeconds } = parseConfig(await settingsOfGuide(), "/");
  return drainSeconds + GRACE_MS / 1_000 + 10;
}

/** The units, and the names under which systemd starts them. */
export const UNITS = {
  "payment-gateway.service": "payment-gateway.service",
  "payment-gateway@.service": "payment-gateway@8001.service",
};
