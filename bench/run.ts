/** `deno task bench [NAME…]`: runs all benchmarks, or the named ones, one after the other. */

const BENCHMARKS = [
  "requests",
  "bodies",
  "sandbox",
  "charges",
  "payment_lists",
  "stats",
  "notifications",
  "bad_notifications",
  "jobs",
  "webhooks",
  "pooler",
  "document",
];

const unknown = Deno.args.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(", ")}. Use: ${BENCHMARKS.join(", ")}.`);
  Deno.exit(1);
}

for (const name of Deno.args.length > 0 ? Deno.args : BENCHMARKS) {
  console.log(`\n## ${name}`);
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-lock", "-P=test", `bench/${name}.ts`],
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  // The other benchmarks still run; the exit code says that one failed or missed a required goal.
  if (!success) Deno.exitCode = 1;
}
