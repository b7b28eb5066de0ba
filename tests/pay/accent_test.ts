import assert from "node:assert/strict";
import { accentOf, accentRules, contrastOf, GROUNDS } from "../../pay/accent.ts";

/** Many colours, among them the extremes. */
const COLORS = Array.from({ length: 6 ** 3 }, (_, index) => {
  const parts = [index % 6, Math.floor(index / 6) % 6, Math.floor(index / 36)];
  return `#${parts.map((part) => (part * 51).toString(16).padStart(2, "0")).join("")}`;
});

Deno.test("accent: text has enough contrast for every colour of a merchant, in both themes", () => {
  for (const color of COLORS) {
    const { fill, onFill, light, dark } = accentOf(color);
    assert.equal(fill, color);
    assert.ok(contrastOf(fill, onFill) >= 4.5, `${onFill} on ${fill}`);
    for (const ground of GROUNDS.light) assert.ok(contrastOf(light, ground) >= 4.5, color);
    for (const ground of GROUNDS.dark) assert.ok(contrastOf(dark, ground) >= 4.5, color);
  }
});

Deno.test("accent: leaves a colour as it is if it can be read", () => {
  assert.equal(accentOf("#0f766e").light, "#0f766e");
  assert.equal(accentOf("#FC0").fill, "#ffcc00");
  assert.equal(accentOf("#FC0").onFill, "#000000");
  assert.equal(accentOf("#00008b").onFill, "#ffffff");
});

Deno.test("accent: ignores text that is no colour", () => {
  for (const text of ["red", "#12", "#0f766e}body{display:none", "", "url(x)"]) {
    assert.equal(accentRules(text), accentRules(null), text);
  }
});

Deno.test("accent: the stylesheet has the backgrounds that contrast is computed for", async () => {
  const { default: css } = await import("../../pay/pay.css", { with: { type: "text" } });
  const screen = css.slice(0, css.indexOf("@media print"));
  const backgrounds = Array.from(screen.matchAll(/--(?:ground|card): (#\w+);/g), ([, hex]) => hex);
  assert.deepEqual(backgrounds, [...GROUNDS.light, ...GROUNDS.dark]);
});
