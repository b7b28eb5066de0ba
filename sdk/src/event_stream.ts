/** Parses server-sent events (`text/event-stream`). */

export interface Message {
  id?: string;
  data?: string;
  /** Pause before the next reconnect. */
  retryMs?: number;
}

/** Throws if nothing arrives for `silenceMs`, not even a comment: the connection may be dead. */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
  signal?: AbortSignal,
): AsyncGenerator<Message, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(normalizeLineEnds()).getReader();
  let text = "";
  // The request has a combined signal (`AbortSignal.any`). Once that is garbage collected, aborting
  // `signal` no longer ends the request.
  const stop = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", stop);
  try {
    while (!signal?.aborted) {
      const { done, value } = await withTimeout(silenceMs, reader.read());
      if (done) return;
      const blocks = (text + value).split("\n\n");
      // The last block is incomplete.
      text = blocks.pop() ?? "";
      for (const block of blocks) yield parseBlock(block);
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    // Leaving the loop closes the connection.
    await reader.cancel().catch(() => {});
  }
}

async function withTimeout<T>(ms: number, reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No data arrived for ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function parseBlock(block: string): Message {
  const message: Message = {};
  for (const line of block.split("\n")) {
    // The flag `s`: U+2028 ends a line in JavaScript, but not in an event stream.
    const [, field, value] = line.match(/^(\w+): ?(.*)$/s) ?? [];
    if (value === undefined) continue;
    if (field === "id") message.id = value;
    // The standard says to ignore other values.
    if (field === "retry" && /^\d+$/.test(value)) message.retryMs = Number(value);
    if (field === "data") {
      message.data = message.data === undefined ? value : `${message.data}\n${value}`;
    }
  }
  return message;
}

/** Replaces the line ends CRLF and CR by LF. */
function normalizeLineEnds(): TransformStream<string, string> {
  let endedWithCr = false;
  return new TransformStream({
    transform(text, to) {
      // A CR at the end of a chunk ends a line. An LF at the start of the next chunk belongs to it.
      const rest = endedWithCr && text.startsWith("\n") ? text.slice(1) : text;
      endedWithCr = text.endsWith("\r");
      to.enqueue(rest.replace(/\r\n?/g, "\n"));
    },
  });
}
