/**
 * `deno task bench [NAME…] [--OPTION=VALUE…]`: runs all benchmarks, or the named ones, one after
 * the other. Each benchmark gets the options.
 */

const BENCHMARKS = [
  "requests",
  "bodies",
  "sandbox",
  "charges",
  "payment_lists",
  "search",
  "console",
  "stats",
  "invariants",
  "reconciliation",
  "hostile_reports",
  "exports",
  "reads",
  "notifications",
  "bad_notifications",
  "flood",
  "memory",
  "jobs",
  "webhooks",
  "pooler",
  "instances",
  "streams",
  "document",
];

const options = Deno.args.filter((each) => each.startsWith("--"));
const names = Deno.args.filter((each) => !each.startsWith("--"));
const unknown = names.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(", ")}. Use: ${BENCHMARKS.join(", ")}.`);
  Deno.exit(1);
}

for (const name of names.length > 0 ? names : BENCHMARKS) {
  console.log(`\n## ${name}`);
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-lock", "-P=test", `bench/${name}.ts`, ...options],
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  // The other benchmarks still run; the exit code says that one failed or missed a required goal.
  if (!success) Deno.exitCode = 1;
}
