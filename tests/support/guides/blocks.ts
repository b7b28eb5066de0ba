/** The fenced blocks of a guide, and what each of them is there for. */

/**
 * What the words after the fence make of a block:
 *
 * - `sh`: it is run.
 * - `sh another-terminal`: it is run beside all that follows, until the guide ends.
 * - `js receiver.mjs`: a file of the reader's, written under that name for later blocks to run.
 * - `json output`, `text output`: what the block before it answers.
 * - `sh not-run REASON`: it cannot be run here, in whatever language it is. They are counted.
 * - `ini`, `nginx`: it is only shown.
 */
export type Block =
  & { /** Of its fence in the guide, from 1. */ line: number; text: string }
  & (
    | { kind: "run"; isBeside: boolean }
    | { kind: "file"; name: string }
    | { kind: "output"; format: "json" | "text" }
    | { kind: "not-run"; reason: string }
    | { kind: "shown" }
  );

/** Settings of others. Of anything else nobody may forget to say what it is there for. */
const SHOWN = ["ini", "nginx"];

export function blocksOf(guide: string): Block[] {
  const blocks = [...guide.matchAll(/^```([^\n`]*)\n(.*?)^```$/gms)].map((match): Block => {
    const line = guide.slice(0, match.index).split("\n").length;
    const [language = "", word = "", ...rest] = match[1]!.trim().split(/ +/);
    return { line, text: match[2]!, ...purpose(language, word, rest.join(" "), line) };
  });
  for (const [index, { kind, line }] of blocks.entries()) {
    const before = blocks[index - 1]?.kind ?? "";
    if (kind === "output" && !["run", "not-run"].includes(before)) {
      throw new Error(`line ${line}: the output is that of no block`);
    }
  }
  return blocks;
}

function purpose(language: string, word: string, rest: string, line: number) {
  if (word === "not-run" && rest !== "") return { kind: "not-run" as const, reason: rest };
  if (language === "sh" && ["", "another-terminal"].includes(word)) {
    return { kind: "run" as const, isBeside: word !== "" };
  }
  if ((language === "json" || language === "text") && word === "output") {
    return { kind: "output" as const, format: language as "json" | "text" };
  }
  if (["js", "ts"].includes(language) && /^[\w-]+\.\w+$/.test(word)) {
    return { kind: "file" as const, name: word };
  }
  if (SHOWN.includes(language) && word === "") return { kind: "shown" as const };
  throw new Error(`line ${line}: the block is neither run nor an output, nor says why not`);
}
