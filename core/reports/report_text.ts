/**
 * The text of a report before it is parsed as CSV: in small blocks of whole lines, and with limits
 * for each line. The parser has no limit on the cells of a line, and one thread serves all callers:
 * without this, a file of commas would stop the instance and fill its memory.
 */

import { setTimeout as delay } from "node:timers/promises";

/** Far longer than any line of a report. */
const MAX_LINE_LENGTH = 64 * 1024;

/** Far more than any report has; those of the gateway have fewer than 100. */
const MAX_CELLS = 1_000;

/** A block ends after this many characters or lines; parsing it takes about a millisecond. */
const BLOCK_LENGTH = 4 * 1024;
const BLOCK_LINES = 64;

/** After this time the reading pauses, so that other requests get the thread. */
const WORK_MS = 2;
const PAUSE_MS = 1;

const CR = 13;
const LF = 10;
const QUOTE = 34;

/** The ends of lines that the parser must use, too. */
export const LINE_ENDS = ["\r\n", "\n", "\r"];

/** A line that cannot be parsed. */
export class UnreadableLine extends Error {
  constructor(readonly line: number, message: string) {
    super(message);
  }
}

/** Some lines of a file. */
export interface Block {
  text: string;
  /** The number of its first line. */
  line: number;
}

export interface ReportText {
  /** Throws `UnreadableLine`, or a `TypeError` if the file is not UTF-8. */
  blocks: AsyncGenerator<Block, void>;
  /** The character between two cells. */
  delimiter: string;
}

/** Decodes a file, without its byte order mark. */
export async function readText(file: ReadableStream<Uint8Array>): Promise<ReportText> {
  const parts = decode(file);
  let beginning = "";
  while (!/[\r\n]/.test(beginning) && beginning.length < MAX_LINE_LENGTH) {
    const { value, done } = await parts.next();
    if (done) break;
    beginning += value;
  }
  const [header = ""] = beginning.split(/[\r\n]/, 1);
  const count = (character: string) => header.split(character).length;
  const [delimiter = ","] = [",", ";", "\t"].sort((a, b) => count(b) - count(a));
  async function* all() {
    yield beginning;
    yield* parts;
  }
  return { blocks: paused(divide(all(), delimiter)), delimiter };
}

async function* decode(file: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const chunk of file) {
    for (let from = 0; from < chunk.length; from += BLOCK_LENGTH) {
      yield decoder.decode(chunk.subarray(from, from + BLOCK_LENGTH), { stream: true });
    }
  }
  decoder.decode();
}

/** Pauses now and then after a block was used. */
async function* paused(blocks: AsyncGenerator<Block, void>): AsyncGenerator<Block, void> {
  let began = performance.now();
  for await (const block of blocks) {
    yield block;
    if (performance.now() - began < WORK_MS) continue;
    await delay(PAUSE_MS);
    began = performance.now();
  }
}

/**
 * Divides text into blocks. A line break in quotes does not end a line. The parser reads a quote in
 * the middle of a cell differently, but rejects the file.
 */
async function* divide(
  parts: AsyncGenerator<string, void>,
  delimiter: string,
): AsyncGenerator<Block, void> {
  const separator = delimiter.charCodeAt(0);
  let text = "";
  let [firstLine, lines] = [1, 0];
  let [line, length, cells] = [1, 0, 1];
  let [breaks, previous] = [0, 0];
  let [isQuoted, hasEnded] = [false, false];
  for await (const part of parts) {
    let from = 0;
    for (let index = 0; index < part.length; index++) {
      const code = part.charCodeAt(index);
      const isBreak = code === CR || code === LF;
      const isSecond = code === LF && previous === CR;
      previous = code;
      if (isBreak && !isSecond) breaks++;
      if (hasEnded && isSecond) continue;
      if (hasEnded) {
        if (text.length + index - from >= BLOCK_LENGTH || lines >= BLOCK_LINES) {
          yield { text: text + part.slice(from, index), line: firstLine };
          [text, from, lines] = ["", index, 0];
          firstLine = line;
        }
        [length, cells, hasEnded] = [0, 1, false];
      }
      if (code === QUOTE) isQuoted = !isQuoted;
      if (isBreak && !isQuoted) {
        [line, hasEnded] = [breaks + 1, true];
        if (length > 0) lines++;
        continue;
      }
      if (code === separator && !isQuoted && ++cells > MAX_CELLS) {
        const message = `has more than ${MAX_CELLS} cells; send the report as it was downloaded`;
        throw new UnreadableLine(line, message);
      }
      if (++length > MAX_LINE_LENGTH) {
        const advice = isQuoted ? "close its quotes" : "send the report as it was downloaded";
        throw new UnreadableLine(line, `has more than ${MAX_LINE_LENGTH} characters; ${advice}`);
      }
    }
    text += part.slice(from);
  }
  yield { text, line: firstLine };
}
