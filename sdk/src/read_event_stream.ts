/** Reads server-sent events (`text/event-stream`) one by one. */

export interface Message {
  id?: string;
  data?: string;
  /** How long to wait before connecting anew. */
  retryMs?: number;
}

export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Message, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .getReader();
  let text = "";
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (text + value).split("\n\n");
      // What comes last has not ended yet.
      text = blocks.pop() ?? "";
      for (const block of blocks) yield parseBlock(block);
    }
  } finally {
    // A reader who leaves the loop closes the connection.
    await reader.cancel().catch(() => {});
  }
}

function parseBlock(block: string): Message {
  const message: Message = {};
  for (const line of block.split("\n")) {
    // By `s` a value may hold what JavaScript takes for the end of a line, and the stream does not.
    const [, field, value] = line.match(/^(\w+): ?(.*)$/s) ?? [];
    if (value === undefined) continue;
    if (field === "id") message.id = value;
    if (field === "retry") message.retryMs = Number(value);
    if (field === "data") {
      message.data = message.data === undefined ? value : `${message.data}\n${value}`;
    }
  }
  return message;
}
