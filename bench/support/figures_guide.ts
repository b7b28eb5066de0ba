/** Writes the table of a run into `docs/figures.md`. */

const GUIDE = new URL("../../docs/figures.md", import.meta.url);

export const HEADING = "## Processor time of each operation";

/** Replaces the section, which is the last one. */
export async function writeFigures(report: string): Promise<void> {
  const text = await Deno.readTextFile(GUIDE);
  const [before] = text.split(`\n${HEADING}\n`);
  const machine = `${navigator.hardwareConcurrency} cores (${Deno.build.arch})`;
  const section = `${HEADING}\n\n` +
    `Written by \`deno task bench --write\` on ${machine}, which the service shared with PostgreSQL, ` +
    `the sandbox and the callers.\n\n${report}`;
  await Deno.writeTextFile(GUIDE, `${before!.trimEnd()}\n\n${section}`);
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", GUIDE.pathname] }).output();
}
