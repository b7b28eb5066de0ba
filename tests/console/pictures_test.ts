import { updateStats } from "../../core/reports/count_payments.ts";
import { BROWSER, openConsole } from "../support/console/browser.ts";
import { addOperations } from "../support/console/operations.ts";

/**
 * A folder for the pictures of `docs/console.md`, such as `docs/pictures`; none are taken if it is
 * not set.
 */
const FOLDER = Deno.env.get("SCREENSHOT_DIR");

const CUSTOMERS = ["siti@example.com", "budi@example.com", "dewi@example.com"];

Deno.test({
  name: "console in a browser: takes the pictures of the guide",
  ignore: BROWSER === null || FOLDER === undefined,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    for (const [index, email] of CUSTOMERS.entries()) {
      const details = {
        order_id: `order-${1890 + index}`,
        customer_details: { first_name: "Siti", last_name: "Utami", email },
        item_details: [{ name: "Coffee beans, 1 kg", price: 44_000, quantity: 1 }],
      };
      if (index === 0) await payments.charge("bca", details);
      else await payments.paid("gopay", details);
    }
    const refunded = await payments.paid("gopay", { order_id: "order-1893" });
    await payments.post(`/payments/${refunded.id}/refund/`, { amount: 10_000, reason: "Late" });
    const [event] = await addOperations(payments);
    await updateStats(payments.app.deps);
    const viewport = { width: 1040, height: 540 };
    const context = await browser.newContext({ viewport, colorScheme: "light" });
    const page = await context.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    const pictures = {
      overview: "",
      payment: `payments/${refunded.id}/`,
      event: `${event}/`,
    };
    for (const [name, path] of Object.entries(pictures)) {
      await page.goto(`${url}/${path}`);
      // Without the navigation, which changes with every new page.
      const clip = await page.locator("main").boundingBox();
      const height = Math.min(clip.height, viewport.height - clip.y);
      await page.screenshot({
        path: `${FOLDER}/console-${name}.png`,
        clip: { ...clip, height },
      });
    }
  },
});
