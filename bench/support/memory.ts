/** The memory of a child process. */

/** The resident bytes of the only descendant process whose command line matches. */
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
  const isDescendant = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === Deno.pid || isDescendant(parents.get(pid)));
  const [found, another] = processes.filter(({ pid, args }) =>
    commandLine.test(args) && isDescendant(parents.get(pid))
  );
  if (!found || another) throw new Error(`Not exactly one process matches ${commandLine}`);
  return found.bytes;
}
