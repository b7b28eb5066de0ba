import assert from "node:assert/strict";
import { PaymentSchema } from "../routes/payments/schemas.ts";
import { openApp } from "./support/app.ts";
import { findBrowser, launchBrowser } from "./support/browser.ts";
import { createDatabase } from "./support/database.ts";
import { dataFolder, startService } from "./support/service.ts";

const databaseUrl = await createDatabase();
const browserPath = findBrowser();

/** Where pictures of the page go, for whoever wants to look at them. */
const SCREENSHOTS = Deno.env.get("SCREENSHOT_DIR");

Deno.test("the page and its script come from us, under a strict policy", async () => {
  await using app = await openApp({ databaseUrl });
  const page = await app.request("/reference");
  assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
  const policy = page.headers.get("content-security-policy") ?? "";
  const nonce = policy.match(/'nonce-([\w-]+)'/)?.[1];
  const html = await page.text();
  assert.ok(nonce && html.includes(`nonce="${nonce}"`));
  assert.match(policy, /default-src 'none'.*connect-src 'self'.*frame-ancestors 'none'/);
  assert.match(html, /src="\/reference\/scalar\.js"/);

  const script = await app.request("/reference/scalar.js");
  assert.equal(script.headers.get("content-encoding"), "gzip");
  const text = await new Response(
    (await script.blob()).stream().pipeThrough(new DecompressionStream("gzip")),
  ).text();
  assert.ok(text.length > 1_000_000);
});

Deno.test("the development key is shown to pages of this machine alone", async () => {
  await using folder = await dataFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const { port } = new URL(service.url);
  const page = async (host: string) => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
    const request = `GET /reference HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    return await new Response(connection.readable).text();
  };
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    assert.ok((await page(host)).includes(service.keys.user));
  }
  // A stranger's name that was made to point here: its page would be allowed to read the answer.
  const strangers = [`rebound.example.com:${port}`, "example.com", "localhost.example.com"];
  for (const host of [...strangers, "evil@localhost", "localhost#x", "localhost/x", "a b", "["]) {
    assert.ok(!(await page(host)).includes("gk_"));
  }
  assert.ok(!(await page(`localhost:${port}`)).includes(service.keys.staff));
});

Deno.test({
  name: "in a browser without a network it renders, and “try it” makes an authenticated call",
  ignore: browserPath === null,
  async fn() {
    await using folder = await dataFolder();
    await using service = await startService({ settings: { DATA_DIR: folder.path } });
    const browser = await launchBrowser(browserPath!);
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      const requests: string[] = [];
      const complaints: string[] = [];
      page.on("request", (request: { url(): string }) => requests.push(request.url()));
      page.on("console", (message: { type(): string; text(): string }) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error: Error) => complaints.push(String(error)));

      await page.goto(`${service.url}/reference`);
      await page.getByRole("heading", { name: "Payment Gateway Integration Service" }).waitFor();
      if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/reference.png` });

      /** Opens an operation by its name on the left, and sends its example as it stands there. */
      const tryOut = async (group: string, title: string, path: string) => {
        await page.keyboard.press("Escape");
        // What is further down is rendered when it is reached.
        await page.getByRole("link", { name: group }).first().click();
        await page.getByRole("heading", { name: title }).first().waitFor();
        const answered = page.waitForResponse((response: { url(): string }) =>
          response.url().endsWith(path)
        );
        await page.getByRole("button", { name: new RegExp(`Test Request.*${path}`, "i") }).first()
          .click();
        await page.getByRole("button", { name: /^Send/ }).first().click();
        return await answered;
      };

      const me = await tryOut("Callers", "Get the caller", "/me/");
      assert.equal(me.status(), 200);
      assert.equal((await me.json()).user_id, "developer");
      const charge = await tryOut("Charges", "Create a charge", "/charge/");
      assert.equal(charge.status(), 201);
      assert.equal(PaymentSchema.parse(await charge.json()).transaction_status, "pending");
      if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/try_it.png` });

      const outside = requests.filter((url) =>
        !url.startsWith(service.url) && !/^(data|blob|about):/.test(url)
      );
      assert.deepEqual(outside, []);
      assert.deepEqual(complaints, []);
    } finally {
      await browser.close();
    }
  },
});
