/** A customer with a browser who pays by card, on the page of the emulated gateway. */

import type { Checkout } from "../checkouts/checkouts.ts";
import type { Page } from "./browser.ts";
import { chooseOnPage, visitLive, waitForScreen } from "./service.ts";

/** The customer chooses cards, and follows to the gateway's page. */
export async function openCardForm(checkout: Checkout): Promise<Page> {
  const page = await visitLive(checkout);
  await chooseOnPage(page, "credit_card");
  await followToForm(page);
  return page;
}

export async function followToForm(page: Page): Promise<void> {
  await page.locator("#page a.button.main").click();
  await page.getByLabel("Card number").waitFor();
}

/** Opens the checkout again, as with the back button. */
export async function comeBack(page: Page, checkout: Checkout, screen: string): Promise<void> {
  await page.goto(`${checkout.checkout_url}?lang=en`);
  await waitForScreen(page, screen);
}
