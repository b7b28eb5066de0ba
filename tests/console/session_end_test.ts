import assert from "node:assert/strict";
import { EXPORT_PAGE } from "../../core/reports/export_stream.ts";
import type { Database } from "../../db/connection/database.ts";
import { openApp, REAL_INSTALLATION, type TestAppOptions } from "../support/app.ts";
import { type Browsing, signInTo } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { insertPayments } from "../support/reports/insert_payments.ts";
import { inTime, until } from "../support/until.ts";

const MINUTE_MS = 60_000;

/** An app whose clock the test moves, with a session to end and another one of the same key. */
async function openSessions(options: Partial<TestAppOptions> = {}) {
  let now = Date.now();
  let checks = 0;
  const app = await openApp({
    databaseUrl: await createDatabase(),
    streamOptions: { keyCheckMs: 10 },
    now: () => now,
    wrapDatabase: (database): Database => ({
      ...database,
      query(work, name) {
        if (name === "check keys of streams") checks++;
        return database.query(work, name);
      },
    }),
    ...options,
  });
  const key = await app.createKey({ userId: "leaver", isStaff: true });
  const [ending, kept] = [await signInTo(app, key), await signInTo(app, key)];
  return {
    app,
    ending,
    kept,
    pass: (minutes: number) => void (now += minutes * MINUTE_MS),
    /** Waits until the credentials of all streams have been checked. */
    async untilChecked() {
      const before = checks;
      await until("the credentials are checked", () => checks >= before + 2);
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

type Sessions = Awaited<ReturnType<typeof openSessions>>;

/** Sends a request in a session, and does not read the body of the response. */
async function send(
  { app }: Sessions,
  { cookies }: Browsing,
  path: string,
  method = "GET",
): Promise<Response> {
  const headers = { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
  const url = `http://console.example/console${path}`;
  return await app.fetchUnchecked(new Request(url, { method, headers }));
}

/** Opens a live stream. `ended` resolves when it ends, with an error or without one. */
async function openLive(sessions: Sessions, browsing: Browsing, path = "/live/") {
  const response = await send(sessions, browsing, path);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body!.getReader();
  async function read(): Promise<void> {
    while (!(await reader.read()).done);
  }
  return { ended: read().catch(() => {}), close: () => reader.cancel() };
}

/** How a session ends while the other one stays valid. `begin`: before its stream or export. */
const ENDS: Record<string, {
  begin?(sessions: Sessions): Promise<void>;
  end(sessions: Sessions): Promise<void>;
}> = {
  "staff ended its session": {
    async end({ kept }) {
      await kept.open("/console/sessions/");
      await kept.submit(/\/end\/$/);
    },
  },
  "its user signed out": {
    async end({ ending }) {
      await ending.open("/console/payments/");
      await ending.submit(/sign-out/);
    },
  },
  "its session expired": {
    async begin({ app, ending, kept, pass }) {
      for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
        pass(20);
        await ending.open("/console/sessions/");
      }
      pass(10);
      await kept.open("/console/sign-in/");
      const key = await app.createKey({ userId: "leaver", isStaff: true });
      await kept.submit(/sign-in/, { credential: key });
    },
    // Less than the longest time of a stream.
    end: ({ pass }) => Promise.resolve(pass(11)),
  },
};

async function assertStreamEnds(sessions: Sessions, end: () => void | Promise<void>) {
  const { app, ending, kept, untilChecked } = sessions;
  const live = await openLive(sessions, ending);
  const other = await openLive(sessions, kept);
  await untilChecked();
  assert.equal(app.streams.count(), 2);
  await end();
  await inTime("the live stream ends", live.ended);
  await untilChecked();
  assert.equal(app.streams.count(), 1, "the other session keeps its stream");
  await other.close();
}

async function assertExportIsCut(sessions: Sessions, end: () => void | Promise<void>) {
  const { app, ending, kept } = sessions;
  const { length } = await insertPayments(app, 3 * EXPORT_PAGE);
  const cut = await send(sessions, ending, "/payments/export/");
  const whole = await send(sessions, kept, "/payments/export/");
  await end();
  await assert.rejects(cut.text());
  const failures = app.logged().filter(({ event }) => event === "export_failed");
  assert.equal(failures.length, 1);
  assert.match(JSON.stringify(failures), /its session has ended/);
  const lines = (await whole.text()).split("\r\n");
  assert.equal(lines.length, 1 + length + 1, "the other session gets the whole file");
}

for (const [condition, { begin, end }] of Object.entries(ENDS)) {
  Deno.test(`console live stream: ends after ${condition}`, async () => {
    await using sessions = await openSessions();
    await begin?.(sessions);
    await assertStreamEnds(sessions, () => end(sessions));
  });

  Deno.test(`console export: is cut after ${condition}`, async () => {
    await using sessions = await openSessions();
    await begin?.(sessions);
    await assertExportIsCut(sessions, () => end(sessions));
  });
}

Deno.test("console live stream: ends after its session was idle for 30 minutes", async () => {
  await using sessions = await openSessions();
  const { kept, pass } = sessions;
  pass(20);
  await kept.open("/console/payments/");
  // Less than the longest time of a stream.
  await assertStreamEnds(sessions, () => pass(11));
});

Deno.test("console export: is cut after its session was idle for 30 minutes", async () => {
  await using sessions = await openSessions();
  const { kept, pass } = sessions;
  await assertExportIsCut(sessions, async () => {
    pass(20);
    await kept.open("/console/payments/");
    pass(11);
  });
});

Deno.test("console live stream: neither opening nor keeping it open is a use of the session", async () => {
  await using sessions = await openSessions();
  const { ending, pass, untilChecked } = sessions;
  pass(10);
  const first = await openLive(sessions, ending);
  pass(10);
  const second = await openLive(sessions, ending, "/live");
  await untilChecked();
  pass(11);
  await inTime("the live streams end", Promise.all([first.ended, second.ended]));
  assert.equal((await ending.open("/console/payments/")).path, "/console/sign-in/");
});

Deno.test("console live stream: has the headers of the API's stream", async () => {
  await using sessions = await openSessions();
  const { app, ending } = sessions;
  const live = await send(sessions, ending, "/live/");
  const api = await app.as(await app.createKey(), "/events/stream/");
  for (const name of ["content-type", "cache-control", "x-accel-buffering"]) {
    assert.ok(live.headers.get(name), name);
    assert.equal(live.headers.get(name), api.headers.get(name), name);
  }
  for (const { body } of [live, api]) await body!.cancel();
});

Deno.test("console live stream: HEAD opens none", async () => {
  const env = { ...REAL_INSTALLATION, STREAMS_PER_CALLER: "2" };
  await using sessions = await openSessions({ env });
  const { app, ending } = sessions;
  for (let count = 0; count < 3; count++) {
    const head = await send(sessions, ending, "/live/", "HEAD");
    assert.equal(head.status, 200);
    assert.equal(head.headers.get("x-accel-buffering"), "no");
  }
  assert.equal(app.streams.count(), 0);
  const live = await openLive(sessions, ending);
  await live.close();
});
