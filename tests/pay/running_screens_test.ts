import assert from "node:assert/strict";
import { checkAccessibility, isTooWide, openDetails } from "../support/pay/appearance.ts";
import { payBrowserTest } from "../support/pay/browser.ts";
import { observe } from "../support/pay/observer.ts";
import { openRunningScreens } from "../support/pay/running_screens.ts";
import { openDevice } from "../support/pay/service.ts";
import { isPartial } from "../support/share.ts";
import { AXE } from "../support/tools.ts";

/** A folder for screenshots; none are taken if it is not set. */
const SCREENSHOTS = Deno.env.get("SCREENSHOT_DIR");

/** A phone and a desktop, and what they have left with a zoom of 200 %. */
const WIDTHS = { 390: [390, 195], 1280: [1280, 640] };

const LOOKS = [390, 1280].flatMap((width) =>
  (["light", "dark"] as const).flatMap((colorScheme) =>
    (["id", "en"] as const).map((language) => ({
      width: width as keyof typeof WIDTHS,
      colorScheme,
      language,
    }))
  )
);

payBrowserTest(
  "every screen of the service is accessible, fits with 200 % zoom, and loads only its own files",
  async () => {
    await using service = await openRunningScreens();
    const { source } = (await import(AXE)).default;
    for (const [number, look] of LOOKS.entries()) {
      for (const [index, [name, url]] of Object.entries(service.screens).entries()) {
        // Each screen has one look, unless all are asked for.
        if (isPartial && index % LOOKS.length !== number) continue;
        const shown = `${name}-${Object.values(look).join("-")}`;
        const page = await openDevice(look);
        const observed = observe(page, service.url);
        await page.goto(`${url}?lang=${look.language}`);
        if (SCREENSHOTS) {
          await page.screenshot({ path: `${SCREENSHOTS}/${shown}.png`, fullPage: true });
        }
        await page.evaluate(openDetails);
        await page.evaluate(source);
        assert.deepEqual(await checkAccessibility(page), [], shown);
        for (const width of WIDTHS[look.width]) {
          await page.setViewportSize({ width, height: 844 });
          assert.ok(!await page.evaluate(isTooWide), `${shown} is wider than ${width} px`);
        }
        await observed.assertClean(shown);
        await page.context().close();
      }
    }
  },
);
