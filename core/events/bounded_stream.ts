/** A byte stream to one reader with a bounded buffer: a slow reader cannot fill the memory. */

export interface BoundedStream {
  readable: ReadableStream<Uint8Array>;
  /**
   * False: the chunk was not added, because the buffer is full or the stream has ended. An empty
   * buffer accepts any chunk.
   */
  write(chunk: Uint8Array): boolean;
  /** Whether the reader has received everything that was written. */
  isEmpty(): boolean;
  /** Sends the buffered chunks, then ends the stream. */
  end(): void;
  /** Drops the buffered chunks and fails the stream. The server prints the reason. */
  abort(reason: string): void;
}

export interface BoundedStreamOptions {
  /** Called when the reader waits and the buffer is empty. */
  onIdle(): void;
  /** Called once, when the stream is ended or aborted, or the reader disconnects. */
  onClosed(): void;
}

const MAX_CHUNKS = 1_000;
const MAX_BYTES = 2 * 1024 * 1024;

/** Buffered chunks are sent together, up to this size: under load that costs far less. */
const SEND_BYTES = 65_536;

export function createBoundedStream({ onIdle, onClosed }: BoundedStreamOptions): BoundedStream {
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  let isReaderWaiting = false;
  let isClosed = false;
  let controller: ReadableStreamDefaultController<Uint8Array>;

  function send(): void {
    if (!isReaderWaiting || chunks.length === 0) return;
    isReaderWaiting = false;
    const sent = takeChunks(chunks);
    bytes -= sent.length;
    controller.enqueue(sent);
  }

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    chunks = [];
    onClosed();
  }

  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(streamController) {
      controller = streamController;
    },
    pull() {
      isReaderWaiting = true;
      send();
      if (isReaderWaiting) onIdle();
    },
    cancel: close,
  };
  return {
    // 0: the `ReadableStream` buffers nothing itself, because the limits above do not cover its
    // buffer.
    readable: new ReadableStream(source, { highWaterMark: 0 }),
    write(chunk) {
      const isFull = chunks.length >= MAX_CHUNKS || bytes + chunk.length > MAX_BYTES;
      if (isClosed || (isFull && chunks.length > 0)) return false;
      chunks.push(chunk);
      bytes += chunk.length;
      send();
      return true;
    },
    isEmpty: () => chunks.length === 0,
    end() {
      if (isClosed) return;
      if (chunks.length > 0) controller.enqueue(concat(chunks, bytes));
      controller.close();
      close();
    },
    abort(reason) {
      if (isClosed) return;
      // Fails the stream, because that closes the connection at once: after a normal end it would
      // stay open until the reader has read everything. The reason is a string: the server prints
      // it, and would print an `Error` with its stack.
      controller.error(`Event stream aborted: ${reason}`);
      close();
    },
  };
}

/** Takes the first chunks, as many as are sent together. */
function takeChunks(chunks: Uint8Array[]): Uint8Array {
  let [count, size] = [1, chunks[0]!.length];
  for (; count < chunks.length; count++) {
    if (size + chunks[count]!.length > SEND_BYTES) break;
    size += chunks[count]!.length;
  }
  const taken = chunks.splice(0, count);
  return count === 1 ? taken[0]! : concat(taken, size);
}

function concat(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
