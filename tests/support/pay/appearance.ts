/** Checks of a payment page in a browser: accessibility and width. */

import type { Page } from "./browser.ts";

/** To be evaluated in the page: shows the contents of all details. */
export const openDetails = `for (const each of document.querySelectorAll("details")) {
  each.removeAttribute("name");
  each.open = true;
}`;

/** To be evaluated in the page: whether it has to be scrolled sideways. */
export const isTooWide =
  "document.documentElement.scrollWidth > document.documentElement.clientWidth";

/** Problems by the rules of WCAG 2.2 AA. The page has loaded axe. */
export async function checkAccessibility(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate(
    `axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      resultTypes: ["violations"],
    })`,
  );
  return violations.map((each: Page) => `${each.id}: ${each.nodes[0].html} ${each.help}`);
}
