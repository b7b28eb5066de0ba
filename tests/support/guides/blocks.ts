/** The fenced blocks of a guide, and how each is tested. */

/**
 * The words after the fence say how a block is tested:
 *
 * - `sh`: it is run.
 * - `sh another-terminal`: it runs in the background until the guide ends.
 * - `js receiver.mjs`: it is written to a file with this name, which later blocks run.
 * - `json output`, `text output`: the output of the block before it.
 * - `sh not-run REASON`: it cannot be run in a test. Such blocks, in any language, are counted.
 * - `ini`, `nginx`, `yaml`: it is only shown.
 */
export type Block =
  & { /** The line of its fence, from 1. */ line: number; text: string }
  & (
    | { kind: "run"; isBackground: boolean }
    | { kind: "file"; name: string }
    | { kind: "output"; format: "json" | "text" }
    | { kind: "not-run"; reason: string }
    | { kind: "shown" }
  );

/** Settings of other programs. Any other block must say how it is tested. */
const SHOWN = ["ini", "nginx", "yaml"];

export function blocksOf(guide: string): Block[] {
  const blocks = [...guide.matchAll(/^```([^\n`]*)\n(.*?)^```$/gms)].map((match): Block => {
    const line = guide.slice(0, match.index).split("\n").length;
    const [language = "", word = "", ...rest] = match[1]!.trim().split(/ +/);
    return { line, text: match[2]!, ...purpose(language, word, rest.join(" "), line) };
  });
  for (const [index, { kind, line }] of blocks.entries()) {
    const before = blocks[index - 1]?.kind ?? "";
    if (kind === "output" && !["run", "not-run"].includes(before)) {
      throw new Error(`line ${line}: the output has no command before it`);
    }
  }
  return blocks;
}

function purpose(language: string, word: string, rest: string, line: number) {
  if (word === "not-run" && rest !== "") return { kind: "not-run" as const, reason: rest };
  if (language === "sh" && ["", "another-terminal"].includes(word)) {
    return { kind: "run" as const, isBackground: word !== "" };
  }
  if ((language === "json" || language === "text") && word === "output") {
    return { kind: "output" as const, format: language as "json" | "text" };
  }
  if (["js", "ts"].includes(language) && /^[\w-]+\.\w+$/.test(word)) {
    return { kind: "file" as const, name: word };
  }
  if (SHOWN.includes(language) && word === "") return { kind: "shown" as const };
  throw new Error(
    `line ${line}: the block is neither run nor an output; mark it as "not-run REASON"`,
  );
}
