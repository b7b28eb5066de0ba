import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { browserTest, openConsole, openLive, type Page } from "../support/console/browser.ts";
import { addOperations } from "../support/console/operations.ts";
import { compareReport } from "../support/console/reconciliations.ts";
import { until } from "../support/until.ts";

/** As if the user chose another tab, or this one again. The test browser shows all its tabs. */
function setHidden(isHidden: boolean): string {
  return `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));`;
}

/** Counts the requests of a page by which it updates itself. */
function countRefreshes(page: Page): () => number {
  let count = 0;
  page.on("request", (request: Page) => {
    if (request.headers()["console-refresh"]) count++;
  });
  return () => count;
}

function isRefresh(request: Request): boolean {
  return request.headers.has("console-refresh");
}

/** The beginning of the response; then the connection is lost. */
function cutOff({ status, headers }: Response): Response {
  let isSent = false;
  const body = new ReadableStream({
    pull(controller) {
      if (isSent) return controller.error(new Error("The connection was lost."));
      isSent = true;
      controller.enqueue(new TextEncoder().encode("<!doctype html><title>Half a page"));
    },
  });
  return new Response(body, { status, headers });
}

browserTest(
  "more tabs than the browser has connections work, because hidden ones use none; a shown one is up to date and live again",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    // With HTTP/1.1 a browser opens six connections to a host.
    const context = await browser.newContext();
    const first = await context.newPage();
    await signIn(first, await payments.app.createKey({ isStaff: true }));
    await openLive(first, `${url}/payments/`);
    await first.evaluate(setHidden(true));
    for (let i = 0; i < 6; i++) {
      const page = await context.newPage();
      await openLive(page, `${url}/payments/`);
      await page.evaluate(setHidden(true));
    }
    const last = await context.newPage();
    await openLive(last, `${url}/payments/`);
    const refreshes = countRefreshes(first);
    const missed = await payments.charge("bca");
    await last.getByRole("link", { name: missed.order_id }).waitFor();
    assert.equal(refreshes(), 0, "a hidden page does not update itself");
    assert.equal(await first.getByRole("link", { name: missed.order_id }).count(), 0);

    await Promise.all([first.waitForResponse(/\/live\//), first.evaluate(setHidden(false))]);
    await first.getByRole("link", { name: missed.order_id }).waitFor();
    assert.equal(refreshes(), 1);
    const seen = await payments.charge("bca");
    await first.getByRole("link", { name: seen.order_id }).waitFor();
    await context.close();
  },
);

browserTest(
  "a page that was opened in the background is updated when it is shown, and follows from then on",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const context = await browser.newContext();
    const page = await context.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    const background = await context.newPage();
    let streams = 0;
    background.on("request", (request: Page) => {
      if (request.url().includes("/live/")) streams++;
    });
    await background.addInitScript(setHidden(true));
    await background.goto(`${url}/payments/`);
    const missed = await payments.charge("bca");
    assert.equal(streams, 0);
    await background.evaluate(setHidden(false));
    await background.getByRole("link", { name: missed.order_id }).waitFor();
    const seen = await payments.charge("bca");
    await background.getByRole("link", { name: seen.order_id }).waitFor();
    assert.equal(streams, 1);
    await context.close();
  },
);

browserTest("a page shows a change that happened before it followed the events", async () => {
  await using opened = await openConsole();
  const { payments, browser, url, signIn } = opened;
  const pending = await payments.charge("bca");
  const page = await browser.newPage();
  await signIn(page, await payments.app.createKey({ isStaff: true }));
  const paid = Promise.withResolvers<void>();
  await page.route(/\/live\//, async (route: Page) => {
    await paid.promise;
    await route.continue();
  });
  await page.goto(`${url}/payments/${pending.id}/`);
  await page.getByText("Pending").first().waitFor();
  await payments.sandbox.control(`transactions/${pending.transaction_id}/pay`);
  await payments.refresh(pending.id);
  paid.resolve();
  await page.locator(".status.settlement").waitFor();
});

browserTest("a refresh that is rejected is tried again without another event", async () => {
  let rejected = 0;
  await using opened = await openConsole({}, {
    change: (response, request) =>
      isRefresh(request) && ++rejected <= 2 ? new Response(null, { status: 503 }) : response,
  });
  const { payments, browser, url, signIn } = opened;
  const pending = await payments.charge("bca");
  const page = await browser.newPage();
  await signIn(page, await payments.app.createKey({ isStaff: true }));
  rejected = 0;
  await page.route(/\/live\//, async (route: Page) => {
    await payments.sandbox.control(`transactions/${pending.transaction_id}/pay`);
    await payments.refresh(pending.id);
    await route.continue();
  });
  await page.goto(`${url}/payments/${pending.id}/`);
  await page.locator(".status.settlement").waitFor();
});

browserTest("an upload that a proxy refuses shows the status of the response", async () => {
  await using opened = await openConsole({}, {
    change: (response, { method, url }) =>
      method === "POST" && url.endsWith("/reconciliations/")
        ? new Response("<h1>Too large</h1>", { ...HTML, status: 413 })
        : response,
  });
  const page = await opened.browser.newPage();
  await opened.signIn(page, await opened.payments.app.createKey({ isStaff: true }));
  await page.goto(`${opened.url}/reconciliations/`);
  const buffer = Buffer.from("order_id,amount\nA,1000\n");
  const file = { name: "report.csv", mimeType: "text/csv", buffer };
  await page.getByLabel("Report (CSV)").setInputFiles(file);
  await page.getByRole("button", { name: "Upload a report" }).click();
  await page.getByRole("alert").getByText(/^413/).waitFor();
});

/** Browsers may keep pages in spite of `no-store`. Chromium keeps live ones only without it. */
function allowKeeping(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.delete("cache-control");
  return new Response(response.body, { status: response.status, headers });
}

/** Repeats a visit until the browser has kept its page, which it decides itself. */
async function untilKept(visit: () => Promise<boolean>): Promise<void> {
  let isKept = false;
  for (let visits = 0; visits < 10 && !isKept; visits++) isKept = await visit();
  assert.ok(isKept, "the browser has kept the page");
}

/** Opens a page that remembers whether the browser has kept it. */
async function newKeptPage(browser: Page): Promise<Page> {
  const page = await browser.newPage();
  await page.addInitScript(
    `addEventListener("pageshow", (event) => event.persisted && console.log("kept"));`,
  );
  page.isKept = false;
  page.on("console", (message: Page) => page.isKept ||= message.text() === "kept");
  return page;
}

browserTest(
  'a page that the browser has kept is loaded again after "back", with what was entered; after signing out it shows no data',
  async () => {
    await using opened = await openConsole({}, { change: allowKeeping, keepsPages: true });
    const { payments, browser, url, signIn } = opened;
    const key = await payments.app.createKey({ isStaff: true });

    await untilKept(async () => {
      const pending = await payments.charge("bca");
      const page = await newKeptPage(browser);
      await signIn(page, key);
      await openLive(page, `${url}/payments/${pending.id}/`);
      await page.getByText("Pending").first().waitFor();
      await page.goto(`${url}/jobs/`);
      await payments.sandbox.control(`transactions/${pending.transaction_id}/pay`);
      await payments.refresh(pending.id);
      await page.evaluate("history.back()");
      await page.locator(".status.settlement").waitFor();
      return page.isKept;
    });

    await untilKept(async () => {
      const { id, order_id } = await payments.charge("bca");
      const page = await newKeptPage(browser);
      await signIn(page, key);
      await openLive(page, `${url}/payments/${id}/`);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      await page.evaluate("history.back()");
      await page.waitForURL(`${url}/sign-in/**`);
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      assert.equal(await page.getByText(order_id).count(), 0);
      return page.isKept;
    });

    await untilKept(async () => {
      const form = await newKeptPage(browser);
      await signIn(form, key);
      await form.goto(`${url}/invoices/new/`);
      await form.getByLabel("Name").fill("Siti Utami");
      await form.goto(`${url}/jobs/`);
      await form.evaluate("history.back()");
      await form.getByLabel("Name").waitFor();
      if (form.isKept) assert.equal(await form.getByLabel("Name").inputValue(), "Siti Utami");

      await form.getByRole("button", { name: "Sign out" }).click();
      await form.getByRole("heading", { name: "Sign in" }).waitFor();
      await form.evaluate("history.back()");
      await form.waitForURL(`${url}/sign-in/**`);
      await form.getByRole("heading", { name: "Sign in" }).waitFor();
      assert.equal(await form.getByLabel("Name").count(), 0);
      return form.isKept;
    });
  },
);

browserTest(
  "rows do not move while the pointer is over a list with buttons; they do when it leaves",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const [, endpointPath] = await addOperations(payments);
    const page = await browser.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    await openLive(page, `${url}/${endpointPath}/`);
    const rows = page.locator("tbody tr");
    const before = await rows.allTextContents();
    const refreshes = countRefreshes(page);
    await page.getByRole("button", { name: "Send again" }).first().hover();
    await payments.charge("bca");
    await until("the page is loaded", () => refreshes() > 0);
    // The next refresh begins a second later, when the first one has had its effect.
    await payments.charge("bca");
    await until("the page is loaded again", () => refreshes() > 1);
    assert.deepEqual(await rows.allTextContents(), before);

    await page.getByRole("heading", { level: 1 }).hover();
    await until(
      "both new deliveries are shown",
      async () => await rows.count() === before.length + 2,
    );
    // The pointer is over a block without buttons.
    const pending = await payments.charge("bca");
    await openLive(page, `${url}/payments/${pending.id}/`);
    await page.getByRole("heading", { name: "Timeline" }).hover();
    await payments.sandbox.control(`transactions/${pending.transaction_id}/pay`);
    await payments.refresh(pending.id);
    await page.locator(".status.settlement").waitFor();
  },
);

browserTest("a refresh that breaks off does not end the live updates", async () => {
  let streams = 0;
  let broken = 0;
  await using opened = await openConsole({}, {
    change(response, request) {
      // The page then loads itself, and connects again.
      if (isPaymentStream(request) && streams++ === 0) return new Response(null, { status: 503 });
      if (!isRefresh(request) || broken > 0) return response;
      broken++;
      return cutOff(response);
    },
  });
  const { payments, browser, url, signIn } = opened;
  const pending = await payments.charge("bca");
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error: Error) => problems.push(error.message));
  await signIn(page, await payments.app.createKey({ isStaff: true }));
  await page.goto(`${url}/payments/${pending.id}/`);
  await until("a refresh breaks off and the page connects again", () => {
    return broken === 1 && streams === 2;
  });
  await payments.sandbox.control(`transactions/${pending.transaction_id}/pay`);
  await payments.refresh(pending.id);
  await page.locator(".status.settlement").waitFor();
  assert.deepEqual(problems, []);
});

/** Whether a page of one resource connects to the events. */
function isPaymentStream({ url }: Request): boolean {
  return url.includes("/live/?resource=");
}

browserTest(
  "the progress of a report goes on after a broken response, and leads to the sign-in when the session has ended",
  async () => {
    const broken = [cutOff, () => new Response("<p>The proxy restarts.</p>", HTML)];
    await using opened = await openConsole({}, {
      change: (response, request) =>
        isRefresh(request) ? (broken.shift() ?? ((same) => same))(response) : response,
    });
    const { payments, browser, url, signIn } = opened;
    const key = await payments.app.createKey({ isStaff: true });
    const paid = await payments.paid("gopay");
    const upload = async (amount: number) => {
      const response = await payments.app.as(key, "/reconciliations/", {
        method: "POST",
        body: `order_id,amount,time\n${paid.order_id},${amount},2026-03-05\n`,
        headers: { "Content-Type": "text/csv" },
      });
      return (await response.json()).id as string;
    };
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error: Error) => problems.push(error.message));
    await signIn(page, key);
    const first = await upload(43_000);
    await page.goto(`${url}/reconciliations/${first}/`);
    await until("two responses were broken", () => broken.length === 0);
    await compareReport(payments.app, first);
    await page.getByText("Has differences").waitFor();

    await page.goto(`${url}/reconciliations/${await upload(42_000)}/`);
    await page.getByRole("heading", { name: "Comparing the report" }).waitFor();
    await page.context().clearCookies();
    await page.waitForURL(`${url}/sign-in/`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.deepEqual(problems, []);
  },
);

const HTML = { headers: { "Content-Type": "text/html" } };
