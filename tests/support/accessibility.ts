/** Checks pages with axe, all rules: also those that are no part of WCAG. */

import { AXE } from "./tools.ts";
import type { Page } from "./console/browser.ts";

/** The script of axe. Evaluated, because the content security policy refuses script elements. */
export async function loadAxe(): Promise<string> {
  return (await import(AXE)).default.source;
}

/** What is wrong with the page, which has loaded axe. */
export async function checkAccessibility(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate(`axe.run({ resultTypes: ["violations"] })`);
  return violations.map((each: Page) => `${each.id}: ${each.nodes[0].html} ${each.help}`);
}
