/** How much memory a program that was started from here takes. */

/** In bytes; of the one process below this one whose command line fits. */
export async function residentMemory(commandLine: RegExp): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["-eo", "pid=,ppid=,rss=,args="] })
    .output();
  const processes = new TextDecoder().decode(stdout).trim().split("\n").map((line) => {
    const [pid, parent, kilobytes, ...args] = line.trim().split(/ +/);
    return {
      pid: Number(pid),
      parent: Number(parent),
      bytes: Number(kilobytes) * 1024,
      args: args.join(" "),
    };
  });
  const parents = new Map(processes.map(({ pid, parent }) => [pid, parent]));
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === Deno.pid || isBelow(parents.get(pid)));
  const [found, another] = processes.filter(({ pid, args }) =>
    commandLine.test(args) && isBelow(parents.get(pid))
  );
  if (!found || another) throw new Error(`Not one process is ${commandLine}`);
  return found.bytes;
}
