import { updateStats } from "../../core/reports/count_payments.ts";
import { findBrowser, launchBrowser } from "../support/browser.ts";
import { addOperations } from "../support/console/operations.ts";
import { openPayments } from "../support/payments/payments.ts";

const browserPath = findBrowser();

/** A folder for the pictures of `docs/console.md`, such as `docs/pictures`; none are taken if it is not set. */
const FOLDER = Deno.env.get("SCREENSHOT_DIR");

const CUSTOMERS = ["siti@example.com", "budi@example.com", "dewi@example.com"];

Deno.test({
  name: "console in a browser: takes the pictures of the guide",
  ignore: browserPath === null || FOLDER === undefined,
  sanitizeResources: false,
  async fn() {
    await using payments = await openPayments();
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
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      (request, { remoteAddr }) => payments.app.fetchUnchecked(request, { remoteAddr }),
    );
    await using browser = await launchBrowser(browserPath!);
    const viewport = { width: 1040, height: 540 };
    const context = await browser.newContext({ viewport, colorScheme: "light" });
    const page = await context.newPage();
    const url = `http://127.0.0.1:${server.addr.port}/console`;
    await page.goto(`${url}/sign-in/`);
    await page.getByLabel("API key or JWT").fill(await payments.app.createKey({ isStaff: true }));
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
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
    await page.close();
    await payments.app.streams[Symbol.asyncDispose]();
  },
});
