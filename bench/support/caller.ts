/** A caller with one connection and little overhead, so that the figures measure the server. */

export interface Caller extends Disposable {
  /** Sends a request and reads the whole response; returns its head. */
  send(request: string): Promise<string>;
}

/** Larger than the head of any response. */
const BUFFER_BYTES = 262_144;

export async function connect(url: string): Promise<Caller> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  connection.setNoDelay();
  const buffer = new Uint8Array(BUFFER_BYTES);

  async function read(): Promise<string> {
    let head = "";
    let end = Infinity;
    for (let filled = 0; filled < end;) {
      // The body is not kept.
      const n = await connection.read(head ? buffer : buffer.subarray(filled));
      if (n === null) throw new Error("The server closed the connection");
      filled += n;
      if (head) continue;
      const text = decoder.decode(buffer.subarray(0, filled));
      const length = text.indexOf("\r\n\r\n");
      if (length === -1) continue;
      head = text.slice(0, length);
      end = length + 4 + Number(head.match(/^content-length: (\d+)/im)?.[1]);
    }
    return head;
  }

  return {
    async send(request) {
      const bytes = encoder.encode(request);
      for (let from = 0; from < bytes.length;) {
        from += await connection.write(bytes.subarray(from));
      }
      return await read();
    },
    [Symbol.dispose]: () => connection.close(),
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The duration in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
