import assert from "node:assert/strict";
import { fetchQrImage, isOfGateway } from "../../core/checkouts/qr_image.ts";
import { openCheckouts, PUBLIC_URL, type TestCheckouts } from "../support/checkouts/checkouts.ts";
import { openFakeGateway } from "../support/gateway/gateway.ts";

async function open({ app }: TestCheckouts, pageUrl: string, path: string): Promise<Response> {
  const { pathname } = new URL(pageUrl);
  return await app.fetchUnchecked(new Request(`${PUBLIC_URL}${pathname}${path}`));
}

Deno.test("QR code of GoPay: the service fetches it from the gateway while it can be paid", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  const page = await checkouts.choose(checkout, "gopay");
  const path = page.match(/<img[^>]*src="([^"]+\/qr)"/)?.[1];
  assert.equal(path, `${new URL(checkout.checkout_url!).pathname}/qr`);
  const image = await open(checkouts, checkout.checkout_url!, "/qr");
  assert.equal(image.status, 200);
  assert.match(image.headers.get("content-type")!, /^image\//);
  assert.match(image.headers.get("content-security-policy")!, /^sandbox; default-src 'none'/);
  assert.equal(image.headers.get("cache-control"), "no-store");
  assert.ok((await image.arrayBuffer()).byteLength > 100);

  await checkouts.sandbox.control(`transactions/${checkout.order_id}/pay`);
  for (const { id } of await checkouts.paymentsOf(checkout)) await checkouts.refresh(id);
  const afterwards = await open(checkouts, checkout.checkout_url!, "/qr");
  assert.equal(afterwards.status, 404);
});

Deno.test("QR code: is fetched from no host but the gateway's", async () => {
  await using checkouts = await openCheckouts();
  await using other = openFakeGateway(() =>
    new Response("image", { headers: { "Content-Type": "image/png" } })
  );
  const { id, payment_page_url } = await checkouts.charge("gopay");
  await checkouts.app.database.query((sql) =>
    sql`update gateway.payments set qr_url = ${`${other.url}/qr`} where id = ${id}`
  );
  const image = await open(checkouts, payment_page_url!, "/qr");
  assert.deepEqual([image.status, other.received.length], [404, 0]);
});

Deno.test("QR code: the gateway's newer codes are fetched from the gateway's host for them", () => {
  const image = new URL("https://merchants-app.midtrans.com/v4/qris/gopay/1/qr-code");
  assert.ok(isOfGateway(image, "https://api.midtrans.com"));
  assert.ok(!isOfGateway(image, "https://api.sandbox.midtrans.com"));
  assert.ok(!isOfGateway(image, "http://127.0.0.1:8001"));
});

Deno.test("QR code: of an image that is too large, only the beginning is read", async () => {
  const chunk = new Uint8Array(100_000);
  let sent = 0;
  await using server = openFakeGateway(() => {
    const body = new ReadableStream({
      pull(controller) {
        sent += chunk.length;
        if (sent > 500_000_000) controller.close();
        else controller.enqueue(chunk);
      },
    });
    return new Response(body, { headers: { "Content-Type": "image/png" } });
  });
  const gateway = { baseUrl: server.url };
  assert.equal(await fetchQrImage({ gateway }, { qr_url: `${server.url}/qr` }), null);
  // Buffers of the sockets take a few megabytes.
  assert.ok(sent < 100_000_000, `${sent} bytes`);
});

Deno.test("QR code of QRIS: can be saved as a picture", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "qris");
  const image = await open(checkouts, checkout.checkout_url!, "/qr.png");
  assert.deepEqual([image.status, image.headers.get("content-type")], [200, "image/png"]);
  const bytes = new Uint8Array(await image.arrayBuffer());
  assert.equal(new TextDecoder().decode(bytes.slice(1, 4)), "PNG");
});
