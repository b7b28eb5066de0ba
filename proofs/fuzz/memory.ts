/** Reads the memory of a Deno process through its inspector, after a garbage collection. */

import { until } from "../../tests/support/until.ts";

/** In bytes. */
export interface Memory {
  /** What the operating system counts, which stays high after a peak. */
  resident: number;
  /** The objects that are still in use, and the buffers that they hold. */
  used: number;
}

export interface MemoryReader extends Disposable {
  read(): Promise<Memory>;
}

/** Makes a process start its inspector, on a free port. */
export const INSPECT = "--inspect=127.0.0.1:0";

/** `output`: of a process that was started with `INSPECT`. */
export async function openMemoryReader(output: () => string): Promise<MemoryReader> {
  const findUrl = () => output().match(/^Debugger listening on (ws:\S+)$/m)?.[1];
  await until("the inspector listens", () => findUrl() !== undefined);
  const socket = new WebSocket(findUrl()!);
  const { promise: closed, reject } = Promise.withResolvers<never>();
  // Not unhandled if the process ends while no call waits.
  closed.catch(() => {});
  socket.onclose = () => reject(new Error("The process has ended"));
  const waiting = new Map<number, (result: CallResult) => void>();
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(data);
    waiting.get(id)?.(result);
    waiting.delete(id);
  };
  await Promise.race([new Promise((resolve) => socket.onopen = resolve), closed]);

  let calls = 0;
  async function call(method: string, params: object = {}): Promise<CallResult> {
    const id = ++calls;
    const answered = new Promise<CallResult>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    return await Promise.race([answered, closed]);
  }
  return {
    async read() {
      await call("HeapProfiler.collectGarbage");
      const expression = "JSON.stringify(Deno.memoryUsage())";
      const { result } = await call("Runtime.evaluate", { expression, returnByValue: true });
      const { rss, heapUsed, external } = JSON.parse(result!.value) as Deno.MemoryUsage;
      return { resident: rss, used: heapUsed + external };
    },
    [Symbol.dispose]: () => socket.close(),
  };
}

interface CallResult {
  result?: { value: string };
}
