/** Tests of the sandbox's pages in a browser. */

import assert from "node:assert/strict";
import { closePages, findBrowser, launchSharedBrowser } from "../browser.ts";
import { type Json, openSandbox, type TestSandbox } from "./sandbox.ts";

const browserPath = findBrowser();

/** Null: no browser is installed. */
const browser = browserPath === null ? null : await launchSharedBrowser(browserPath);

/** Folder for screenshots of the pages, if set. */
const SCREENSHOTS = Deno.env.get("SCREENSHOT_DIR");

const PHONE = { viewport: { width: 390, height: 844 } };
const DARK = { colorScheme: "dark" };

const LOOKS: [name: string, options: Json][] = [
  ["1280", {}],
  ["1280_dark", DARK],
  ["390", PHONE],
  ["390_dark", { ...PHONE, ...DARK }],
];

export interface PageTest {
  box: TestSandbox;
  /** A page of the browser; errors, dialogs and requests to other hosts are recorded. */
  // deno-lint-ignore no-explicit-any -- the browser library is loaded at run time and has no types
  open(path: string, options?: Json): Promise<any>;
  takeScreenshot(page: Json, name: string): Promise<void>;
  /** Opens the page in wide and narrow windows, light and dark, if screenshots are taken. */
  takeScreenshots(path: string, name: string): Promise<void>;
  /** Allows a browser error that the test causes on purpose. */
  allowError(pattern: RegExp): void;
}

/** A test in a browser without network access; it fails on any recorded browser error. */
export function browserTest(name: string, fn: (test: PageTest) => Promise<void>) {
  Deno.test({
    name,
    ignore: browser === null,
    async fn() {
      await using box = await openSandbox();
      const errors: string[] = [];
      const expected: RegExp[] = [];
      const watch = (page: Json) => {
        page.on("request", (request: Json) => {
          if (!request.url().startsWith(box.url)) {
            errors.push(`request to another host: ${request.url()}`);
          }
        });
        page.on("console", (message: Json) => {
          if (message.type() === "error") errors.push(message.text());
        });
        page.on("pageerror", (error: Error) => errors.push(String(error)));
        page.on("dialog", (dialog: Json) => {
          errors.push(`dialog: ${dialog.message()}`);
          dialog.dismiss();
        });
      };
      const open: PageTest["open"] = async (path, options = {}) => {
        const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
        watch(page);
        await page.goto(new URL(path, box.url).href);
        if (path === "/") await page.getByText("Live", { exact: true }).waitFor();
        return page;
      };
      const takeScreenshot: PageTest["takeScreenshot"] = async (page, name) => {
        const path = `${SCREENSHOTS}/sandbox_${name}.png`;
        if (SCREENSHOTS) await page.screenshot({ path, fullPage: true });
      };
      try {
        await fn({
          box,
          allowError: (pattern) => expected.push(pattern),
          open,
          takeScreenshot,
          async takeScreenshots(path, name) {
            for (const [look, options] of SCREENSHOTS ? LOOKS : []) {
              await takeScreenshot(await open(path, options), `${name}_${look}`);
            }
          },
        });
      } finally {
        await closePages(browser);
      }
      const isUnexpected = (text: string) => !expected.some((pattern) => pattern.test(text));
      assert.deepEqual(errors.filter(isUnexpected), []);
    },
  });
}

export function row(page: Json, order: string): Json {
  return page.locator("tbody").filter({ hasText: order });
}

export function press(page: Json, name: string | RegExp): Promise<void> {
  return page.getByRole("button", { name }).click();
}
