/** Compares an output with the output that a guide shows, which can be abbreviated. */

import assert from "node:assert/strict";

/**
 * Matches any text in a line or in a string. As a whole line, it matches any number of lines; as
 * the last element of an array, any further elements.
 */
const ANYTHING = "…";

export function assertShown(format: "json" | "text", shown: string, output: string): void {
  const trimmed = output.replace(/[ \r]+$/gm, "");
  if (format === "text") assert.match(`${trimmed.trim()}\n`, textPattern(shown.trim()));
  else assertMember(JSON.parse(shown), parse(trimmed), "");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    assert.fail(`Not JSON: ${text}`);
  }
}

/** Members that the guide shows must exist with these values; others may exist. */
function assertMember(shown: unknown, actual: unknown, path: string): void {
  const where = `${path || "the output"} is ${JSON.stringify(actual)}`;
  if (typeof shown === "string" && shown.includes(ANYTHING)) {
    assert.ok(actual !== null && actual !== undefined, where);
    assert.match(String(actual), new RegExp(`^${linePattern(shown)}$`, "s"), where);
  } else if (Array.isArray(shown)) {
    assert.ok(Array.isArray(actual), where);
    const isOpen = shown.at(-1) === ANYTHING;
    const members = isOpen ? shown.slice(0, -1) : shown;
    if (!isOpen) assert.equal(actual.length, shown.length, where);
    members.forEach((member, index) => assertMember(member, actual[index], `${path}[${index}]`));
  } else if (typeof shown === "object" && shown !== null) {
    assert.ok(typeof actual === "object" && actual !== null, where);
    for (const [name, member] of Object.entries(shown)) {
      assertMember(member, (actual as Record<string, unknown>)[name], `${path}.${name}`);
    }
  } else {
    assert.strictEqual(actual, shown, where);
  }
}

/** Each line includes its line break, so that `…` can also match zero lines. */
function textPattern(shown: string): RegExp {
  const lines = shown.split("\n").map((line) =>
    line === ANYTHING ? "(?:.*\n)*?" : `${linePattern(line)}\n`
  );
  return new RegExp(`^${lines.join("")}$`);
}

function linePattern(line: string): string {
  return line.split(ANYTHING).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*");
}
