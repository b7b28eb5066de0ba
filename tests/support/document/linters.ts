/** Runs Redocly and Spectral on a document, each with the rules in the project's root. */

import { join } from "node:path";
import process from "node:process";
import type { Json } from "../gateway/sandbox.ts";
import { PROJECT } from "../project.ts";
import { DOWNLOAD_ENV, environment } from "../service.ts";
import { REDOCLY, SPECTRAL, SPECTRAL_PARSERS, SPECTRAL_RULES } from "../tools.ts";

export const RULES = { redocly: "redocly.yaml", spectral: ".spectral.yaml" };

/** Each finding as “rule place: message”, both errors and warnings. */
export async function lintByRedocly(path: string): Promise<string[]> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-lock", "--no-config", "-A", REDOCLY],
      ...["lint", path, "--config", join(PROJECT, RULES.redocly)],
      ...["--format", "json", "--max-problems", "1000"],
    ],
    env: environment({
      ...DOWNLOAD_ENV,
      REDOCLY_TELEMETRY: "off",
      REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
    }),
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (!text.startsWith("{")) throw new Error(text + new TextDecoder().decode(stderr));
  return JSON.parse(text).problems.map(({ ruleId, location, message }: Json) =>
    `${ruleId} ${location[0]?.pointer}: ${message}`
  );
}

/** Uses the library with `skipPassed`, because the command line takes five times as long. */
export async function lintBySpectral(text: string): Promise<string[]> {
  const { Spectral } = await load(SPECTRAL);
  const { extends: base, rules } = await readRules(RULES.spectral);
  if (base !== "spectral:oas") throw new Error(`${RULES.spectral} extends ${base}`);
  const spectral = new Spectral();
  spectral.setRuleset({ extends: await oasRules(), rules });
  const problems = await spectral.run(text);
  return problems.map(({ code, path, message }: Json) => `${code} ${path.join("/")}: ${message}`);
}

/** The rules in a linter's file. */
export async function readRules(file: string): Promise<Json> {
  const { Yaml } = await load(SPECTRAL_PARSERS);
  const { data, diagnostics } = Yaml.parse(await Deno.readTextFile(join(PROJECT, file)));
  if (diagnostics.length > 0) throw new Error(`${file} is not YAML`);
  return data;
}

/** The rules of `spectral:oas`; those that check examples use `skipPassed`. */
async function oasRules(): Promise<Json> {
  const { oas } = await load(SPECTRAL_RULES);
  const rules = Object.entries<Json>(oas.rules).map(([name, rule]) =>
    /^oas3-valid-(media|schema)-example$/.test(name)
      ? [name, { ...rule, then: { ...rule.then, function: skipPassed(rule.then.function) } }]
      : [name, rule]
  );
  return { ...oas, rules: Object.fromEntries(rules) };
}

/** Keys of the checks that passed, in this run or an earlier one. */
const passed = new Set<string>();

/**
 * Spectral resolves references before it checks examples, so it compiles the same schemas again
 * wherever they are used: 26,000 times for 600 different ones. Values that passed are not checked
 * again; failures are reported at each place.
 */
function skipPassed(check: Json) {
  return function checkOnce(value: unknown, options: unknown, context: Json) {
    // Requests and responses require different members.
    const direction = context.path.find((part: Json) => /^(requestBody|responses)$/.test(part));
    const key = JSON.stringify([direction, options, value]);
    if (passed.has(key)) return;
    const problems = check(value, options, context);
    if (!problems?.length) passed.add(key);
    return problems;
  };
}

async function load(specifier: string): Promise<Json> {
  // The packages use a deprecated Node module, which would print a warning in every run.
  Object.assign(process, { noDeprecation: true });
  return await import(specifier);
}
