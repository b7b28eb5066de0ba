import assert from "node:assert/strict";
import { GUIDE_PATHS } from "../../pages/guides.ts";
import { checkAccessibility, loadAxe } from "../support/accessibility.ts";
import { browserTest, openConsole } from "../support/console/browser.ts";
import { isPartial } from "../support/share.ts";

/** All have the same frame. These have every kind of content: tables, code, pictures, boxes. */
const GUIDES = isPartial ? ["", "console", "security"] : GUIDE_PATHS;

browserTest(
  "welcome page, guides, reference and sandbox pass all rules of axe, and have a skip link",
  async () => {
    await using opened = await openConsole();
    const { payments: { sandbox }, browser, url } = opened;
    const root = new URL("/", url).href;
    const { transaction_id } = await sandbox.charge("bca");
    const pages = [
      root,
      ...GUIDES.map((path) => `${root}guides/${path === "" ? "" : `${path}/`}`),
      ...[
        "",
        "invoices",
        "subscriptions",
        `transactions/${transaction_id}`,
        `pay/${transaction_id}`,
      ]
        .map((path) => `${sandbox.url}/${path}`),
    ];
    const axe = await loadAxe();
    const page = await browser.newPage();
    const problems: string[] = [];
    const check = async (address: string) => {
      await page.evaluate(axe);
      const found = await checkAccessibility(page);
      problems.push(...found.map((each) => `${address}: ${each}`));
    };
    for (const address of pages) {
      await page.goto(address);
      await check(address);
      await page.keyboard.press("Tab");
      const [name, target] = await page.evaluate(
        "[document.activeElement.className, document.activeElement.hash]",
      );
      assert.deepEqual([name, target], ["skip", "#main"], address);
    }
    // Rendering the reference takes ten seconds of processor time.
    if (!isPartial) {
      await page.goto(`${root}reference/`);
      await page.getByText("POST").first().waitFor();
      await check("reference");
      // On a phone, the page has a header of its own.
      await page.setViewportSize({ width: 390, height: 800 });
      await check("reference at 390 px");
    }
    assert.deepEqual(problems, []);
  },
);
