/** Starts service processes whose clock is wrong, while the database's clock stays right. */

import { join } from "node:path";
import { permissionFlags } from "../../commands/prepare.ts";
import { PROJECT } from "./project.ts";
import { PATIENT, type ServiceProcess, type StartOptions, startService } from "./service.ts";

export interface ShiftedService extends ServiceProcess {
  /** Sets the process's clock to its next shift. */
  step(): void;
}

/**
 * Starts a service whose clock is shifted by `shiftsMs[0]`. Each step changes it to the next shift.
 * The monotonic clock is right, as on a machine whose time was set wrong.
 */
export async function startShifted(
  shiftsMs: number[],
  settings: Record<string, string>,
): Promise<ShiftedService> {
  await using resources = new AsyncDisposableStack();
  const { command } = resources.use(await shiftedCommand(shiftsMs));
  const service = resources.use(await startService({ command, settings }));
  const owned = resources.move();
  return {
    ...service,
    step: () => service.signal("SIGUSR1"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/**
 * The command that starts such a service, and uses a temporary file. By default the service has
 * more time for the database.
 */
export async function shiftedCommand(
  shiftsMs: number[],
  { hasOwnDeadline = false }: Pick<StartOptions, "hasOwnDeadline"> = {},
): Promise<{ command: string[] } & AsyncDisposable> {
  const folder = await Deno.makeTempDir();
  const preload = join(folder, "shift_clock.js");
  await Deno.writeTextFile(preload, `(${shiftClock})(${JSON.stringify(shiftsMs)});`);
  const flags = permissionFlags({ queue: "postgres", dataDir: "/nowhere" }, null, PROJECT);
  const preloads = ["--preload", preload, ...hasOwnDeadline ? [] : [PATIENT]];
  return {
    command: [Deno.execPath(), "run", "--no-prompt", ...preloads, ...flags, "main.ts"],
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Runs in the started process, so it uses nothing from this file. */
function shiftClock(shiftsMs: number[]): void {
  const RealDate = Date;
  const startedAt = performance.timeOrigin + shiftsMs[0]!;
  let step = 0;
  Deno.addSignalListener("SIGUSR1", () => step++);
  const now = () => RealDate.now() + shiftsMs[Math.min(step, shiftsMs.length - 1)]!;
  globalThis.Date = new Proxy(RealDate, {
    construct: (_target, args) =>
      args.length === 0 ? new RealDate(now()) : Reflect.construct(RealDate, args),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => name === "now" ? now : Reflect.get(target, name, receiver),
  });
  Object.defineProperty(performance, "timeOrigin", { value: startedAt });
}
