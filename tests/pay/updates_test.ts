import assert from "node:assert/strict";
import type { TestApp } from "../support/app.ts";
import { openCheckouts, PUBLIC_URL, type TestCheckouts } from "../support/checkouts/checkouts.ts";
import { inTime, until } from "../support/until.ts";

/** As many pages as can wait for one record. */
const MOST_PAGES = 20;

/** With pages that are woken by events only, as if they never looked by themselves. */
async function openPages(): Promise<TestCheckouts> {
  const checkouts = await openCheckouts({ hasPositionPublisher: true });
  const { streams } = checkouts.app;
  const watch = streams.watch;
  streams.watch = async (recordId) => {
    const opened = await watch(recordId);
    return { ...opened, next: () => opened.next(3_600_000) };
  };
  return checkouts;
}

type LivePage = Awaited<ReturnType<typeof openLive>>;

async function openLive(app: TestApp, pageUrl: string) {
  const { pathname } = new URL(pageUrl);
  const response = await app.fetchUnchecked(new Request(`${PUBLIC_URL}${pathname}/live`));
  if (response.status !== 200) {
    await response.body?.cancel();
    return { status: response.status, headers: response.headers };
  }
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  return {
    status: 200,
    headers: response.headers,
    /** The next state; null: the stream has ended. */
    async next() {
      for (;;) {
        const { done, value } = await inTime("the next state", reader.read());
        if (done) return null;
        if (!value.startsWith(":")) return value;
      }
    },
    close: () => reader.cancel(),
  };
}

Deno.test("open page: an event of the checkout's payment brings the new state at once", async () => {
  await using checkouts = await openPages();
  const checkout = await checkouts.create();
  const live = await openLive(checkouts.app, checkout.checkout_url!);
  assert.equal(live.headers.get("x-accel-buffering"), "no");
  assert.equal(live.headers.get("content-type"), "text/event-stream");
  const states = [await live.next!()];
  await checkouts.choose(checkout, "bca_va");
  states.push(await live.next!());
  await checkouts.sandbox.control(`transactions/${checkout.order_id}/pay`);
  for (const { id } of await checkouts.paymentsOf(checkout)) await checkouts.refresh(id);
  states.push(await live.next!());
  assert.equal(new Set(states).size, 3, states.join());
  for (const state of states) assert.match(state!, /^data: [\w-]+\n\n$/);
  await live.close!();
});

Deno.test("open page: a change that it does not show leaves it as it is", async () => {
  await using checkouts = await openPages();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  const stateOf = async () => {
    const { pathname } = new URL(checkout.checkout_url!);
    const url = `${PUBLIC_URL}${pathname}/state`;
    return await (await checkouts.app.fetchUnchecked(new Request(url))).text();
  };
  const before = await stateOf();
  await checkouts.app.database.query((sql) =>
    sql`update gateway.payments set version = version + 1, status_message = 'another'
      where checkout_id = ${checkout.id}`
  );
  assert.equal(await stateOf(), before);
});

Deno.test("open page: an event of a single payment brings the new state at once", async () => {
  await using checkouts = await openPages();
  const { id, order_id, payment_page_url } = await checkouts.charge("bca");
  const live = await openLive(checkouts.app, payment_page_url!);
  const first = await live.next!();
  await checkouts.sandbox.control(`transactions/${order_id}/pay`);
  await checkouts.refresh(id);
  assert.notEqual(await live.next!(), first);
  await live.close!();
});

Deno.test("open page: a link has a limit of open pages, and a closed page makes room", async () => {
  await using checkouts = await openPages();
  const { app } = checkouts;
  const { checkout_url } = await checkouts.create();
  const other = await checkouts.create();
  const pages = [];
  for (let count = 0; count < MOST_PAGES; count++) pages.push(await openLive(app, checkout_url!));
  for (const page of pages) await page.next!();
  const refused = await openLive(app, checkout_url!);
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "10"]);
  pages.push(await openLive(app, other.checkout_url!));
  await pages[0]!.close!();
  await until("there is room again", async () => {
    const page = await openLive(app, checkout_url!);
    await page.close?.();
    return page.status === 200;
  });
  for (const page of pages.slice(1)) await page.close!();
});

Deno.test("open page: its stream ends when the service stops, and no other begins", async () => {
  await using checkouts = await openPages();
  const { app } = checkouts;
  const { checkout_url } = await checkouts.create();
  const live = await openLive(app, checkout_url!);
  await live.next!();
  app.streams.close();
  assert.equal(await live.next!(), null);
  assert.equal((await openLive(app, checkout_url!)).status, 503);
});

const LEAVINGS: Record<string, (live: LivePage, app: TestApp) => unknown> = {
  "is logged": () => {},
  "is not logged after the page was left": (live) => live.close!(),
  "is not logged when the service stops": (_, { streams }) => streams.close(),
};

for (const [name, leave] of Object.entries(LEAVINGS)) {
  Deno.test(`open page: an error of its stream ${name}`, async () => {
    await using checkouts = await openCheckouts({ hasPositionPublisher: true });
    const { app } = checkouts;
    const failing = Promise.withResolvers<boolean>();
    const { watch } = app.streams;
    app.streams.watch = async (id) => ({ ...await watch(id), next: () => failing.promise });
    const { checkout_url } = await checkouts.create();
    const live = await openLive(app, checkout_url!);
    await live.next!();
    await leave(live, app);
    failing.reject(new Error("the database is closed"));
    // When this request is answered, the error has been handled.
    assert.equal((await app.request("/health/ready/")).status, 200);
    const errors = app.logged().filter(({ level }) => level === "error");
    assert.equal(errors.length, name === "is logged" ? 1 : 0);
    await live.close!();
  });
}
