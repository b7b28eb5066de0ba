/** Replaces `Deno.cron`: records what is registered and runs nothing. */

export interface Cron {
  name: string;
  schedule: string;
  signal: AbortSignal;
  run(): Promise<void>;
}

export function recordCrons(): { registered: Cron[] } & Disposable {
  const realCron = Object.getOwnPropertyDescriptor(Deno, "cron")!;
  const registered: Cron[] = [];
  Object.defineProperty(Deno, "cron", {
    ...realCron,
    get: () => (name: string, schedule: string, { signal }: Cron, run: Cron["run"]) => {
      registered.push({ name, schedule, signal, run });
      return Promise.resolve();
    },
  });
  return { registered, [Symbol.dispose]: () => Object.defineProperty(Deno, "cron", realCron) };
}
