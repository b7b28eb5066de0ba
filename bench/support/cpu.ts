/** The processor time of a process and its descendants, including those that have ended. */

/** Ticks are the unit of processor time in Linux. Every architecture of Deno has 100 per second. */
const TICKS_PER_SECOND = 100;

/** The processor time in microseconds. */
export async function processorTime(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("bash", { args: ["-c", "cat /proc/[0-9]*/stat"] })
    .output();
  const processes = new TextDecoder().decode(stdout).trim().split("\n").map((line) => {
    // The program's name is in parentheses, and can contain spaces.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ").map(Number);
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + each);
    return { pid: parseInt(line), parent: fields[1]!, ticks };
  });
  const parents = new Map(processes.map(({ pid, parent }) => [pid, parent]));
  const belongs = (each: number | undefined): boolean =>
    each !== undefined && (each === pid || belongs(parents.get(each)));
  const ticks = processes.filter((each) => belongs(each.pid)).reduce(
    (sum, each) => sum + each.ticks,
    0,
  );
  return ticks / TICKS_PER_SECOND * 1e6;
}
