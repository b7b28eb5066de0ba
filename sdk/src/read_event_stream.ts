/** Reads server-sent events (`text/event-stream`) one by one. */

import { plainLineEnds } from "./line_ends.ts";

export interface Message {
  id?: string;
  data?: string;
  /** How long to wait before connecting anew. */
  retryMs?: number;
}

/** Throws where nothing comes for so long, not even a comment: a connection can die unnoticed. */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
  signal?: AbortSignal,
): AsyncGenerator<Message, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(plainLineEnds()).getReader();
  let text = "";
  // The request's own signal follows this one only until what ties them is collected as garbage.
  const stop = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", stop);
  try {
    while (!signal?.aborted) {
      const { done, value } = await waitAtMost(silenceMs, reader.read());
      if (done) return;
      const blocks = (text + value).split("\n\n");
      // What comes last has not ended yet.
      text = blocks.pop() ?? "";
      for (const block of blocks) yield parseBlock(block);
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    // A reader who leaves the loop closes the connection.
    await reader.cancel().catch(() => {});
  }
}

async function waitAtMost<T>(ms: number, reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("Nothing came for too long")), ms);
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
    // By `s` a value may hold what JavaScript takes for the end of a line, and the stream does not.
    const [, field, value] = line.match(/^(\w+): ?(.*)$/s) ?? [];
    if (value === undefined) continue;
    if (field === "id") message.id = value;
    // Anything else is to be ignored, by the standard.
    if (field === "retry" && /^\d+$/.test(value)) message.retryMs = Number(value);
    if (field === "data") {
      message.data = message.data === undefined ? value : `${message.data}\n${value}`;
    }
  }
  return message;
}
