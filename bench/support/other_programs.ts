/** How much of the processors is used by programs that do not belong to the benchmark. */

import { processorTime } from "./cpu.ts";

/** Above this share of the processors, a run says that the machine was busy. */
const BUSY_SHARE = 0.1;

/** Returns a function that says, in one sentence, how busy the machine was since this call. */
export async function watchOtherPrograms(): Promise<() => Promise<string>> {
  const before = await readTimes();
  return async () => {
    const after = await readTimes();
    const all = after.all - before.all;
    const others = (after.used - before.used - (after.own - before.own)) / all;
    const taken = (after.taken - before.taken) / all;
    const shares = `other programs used ${percent(others)} of the processors, and the host of ` +
      `this virtual machine took ${percent(taken)}`;
    return others + taken > BUSY_SHARE
      ? `The machine was busy: ${shares}. Use only the ratios.`
      : `The machine was quiet: ${shares}.`;
  };
}

function percent(share: number): string {
  return `${Math.round(Math.max(0, share) * 100)} %`;
}

/** In hundredths of a second, of all cores together. */
async function readTimes() {
  const { stdout } = await new Deno.Command("head", { args: ["-1", "/proc/stat"] }).output();
  const times = new TextDecoder().decode(stdout).trim().split(/\s+/).slice(1).map(Number);
  const [user, nice, system, idle, waiting, interrupts, softInterrupts, taken] = times;
  const used = user! + nice! + system! + interrupts! + softInterrupts!;
  return {
    used,
    taken: taken!,
    all: used + idle! + waiting! + taken!,
    own: await processorTime(Deno.pid) / 10_000,
  };
}
