import assert from "node:assert/strict";
import { SignJWT } from "jose";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { browse, signInTo } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";

const databaseUrl = await createDatabase();

const MINUTE_MS = 60_000;

const SECRET = "a".repeat(48);
const WITH_JWTS = {
  ...REAL_INSTALLATION,
  AUTH_JWT_SECRET: SECRET,
  AUTH_JWT_ISSUER: "https://issuer.example",
  AUTH_JWT_AUDIENCE: "payments",
  AUTH_STAFF_CLAIM: "staff",
};

function setCookiesOf(headers: Headers): string {
  return headers.getSetCookie().join("\n");
}

Deno.test("console: a staff or viewer key signs in; another key and a wrong key do not", async () => {
  await using app = await openApp({ databaseUrl });
  for (const owner of [{ isStaff: true }, { isViewer: true }]) {
    const { page } = await signInTo(app, await app.createKey({ userId: "ops", ...owner }));
    assert.equal(page.status, 200);
    assert.match(page.html, /<h1>Overview<\/h1>/);
    assert.match(page.html, owner.isStaff ? /ops · Staff/ : /ops · Viewer/);
  }
  for (const key of [await app.createKey(), "gk_" + "a".repeat(43), "", "x".repeat(300)]) {
    const { page } = await signInTo(app, key);
    assert.equal(page.status, 403);
    assert.match(page.html, /role="alert"/);
    if (key !== "") assert.ok(!page.html.includes(key), "the key is not shown");
  }
});

Deno.test("console: without a session, every page leads to the page to sign in", async () => {
  await using app = await openApp({ databaseUrl });
  const browsing = browse(app);
  for (const path of ["/console/", "/console/payments/", "/console/sessions/", "/console/live/"]) {
    const page = await browsing.open(path);
    assert.equal(page.path, "/console/sign-in/", path);
  }
});

Deno.test("console: the session's cookie is HttpOnly and SameSite=Strict, and bound to the host with TLS", async () => {
  await using app = await openApp({ databaseUrl });
  const key = await app.createKey({ isStaff: true });
  const plain = browse(app);
  await plain.open("/console/sign-in/");
  const tokens = { token: plain.cookies.get("console_form")!, credential: key };
  const request = (origin: string) =>
    app.fetchUnchecked(
      new Request(`${origin}/console/sign-in/`, {
        method: "POST",
        body: new URLSearchParams(tokens),
        headers: {
          Origin: origin,
          Host: new URL(origin).host,
          Cookie: `console_form=${tokens.token}`,
        },
      }),
    );
  const withoutTls = setCookiesOf((await request("http://console.example")).headers);
  assert.match(withoutTls, /^console_session=.*; Path=\/console\/;.*HttpOnly.*SameSite=Strict/m);
  const withTls = setCookiesOf((await request("https://console.example")).headers);
  assert.match(withTls, /^__Host-console_session=.*; Path=\/;.*HttpOnly; Secure; SameSite=Strict/m);
});

Deno.test("console: the session's cookie is not accepted by the API, and only its hash is stored", async () => {
  await using app = await openApp({ databaseUrl });
  const { cookies } = await signInTo(app, await app.createKey({ isStaff: true }));
  const [, token] = [...cookies].find(([name]) => name === "console_session")!;
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await app.request("/payments/", { headers: { Cookie: cookie } });
  assert.equal(response.status, 401);
  const rows = await runSql(databaseUrl, "select * from gateway.console_sessions");
  assert.ok(rows.length > 0);
  assert.ok(!JSON.stringify(rows).includes(token));
});

Deno.test("console: a session ends 30 minutes after its last use, and 12 hours after the sign-in", async () => {
  let now = Date.now();
  await using app = await openApp({ databaseUrl, now: () => now });
  const key = await app.createKey({ isStaff: true });
  const idle = await signInTo(app, key);
  now += 29 * MINUTE_MS;
  assert.equal((await idle.open("/console/payments/")).path, "/console/payments/");
  now += 29 * MINUTE_MS;
  assert.equal((await idle.open("/console/payments/")).path, "/console/payments/");
  now += 31 * MINUTE_MS;
  assert.equal((await idle.open("/console/payments/")).path, "/console/sign-in/");

  const busy = await signInTo(app, key);
  for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
    now += 20 * MINUTE_MS;
    assert.equal((await busy.open("/console/payments/")).path, "/console/payments/");
  }
  now += 20 * MINUTE_MS;
  assert.equal((await busy.open("/console/payments/")).path, "/console/sign-in/");
});

Deno.test("console: a session ends when its key is revoked", async () => {
  await using app = await openApp({ databaseUrl });
  const staff = await app.createKey({ isStaff: true });
  const other = await app.createKey({ isStaff: true });
  const browsing = await signInTo(app, other);
  await app.as(staff, `/keys/${other.slice(0, 11)}/`, { method: "DELETE" });
  assert.equal((await browsing.open("/console/payments/")).path, "/console/sign-in/");
});

Deno.test("console: a session ends when its JWT expires", async () => {
  let now = Date.now();
  await using app = await openApp({ databaseUrl, env: WITH_JWTS, now: () => now });
  const jwt = await new SignJWT({ staff: true }).setProtectedHeader({ alg: "HS256" })
    .setSubject("finance").setIssuer(WITH_JWTS.AUTH_JWT_ISSUER)
    .setAudience(WITH_JWTS.AUTH_JWT_AUDIENCE)
    .setExpirationTime(Math.floor(now / 1000) + 600)
    .sign(new TextEncoder().encode(SECRET));
  const browsing = await signInTo(app, jwt);
  assert.match(browsing.page.html, /finance · Staff/);
  now += 9 * MINUTE_MS;
  assert.equal((await browsing.open("/console/payments/")).path, "/console/payments/");
  now += 2 * MINUTE_MS;
  assert.equal((await browsing.open("/console/payments/")).path, "/console/sign-in/");
});

Deno.test("console: lists sessions; staff can end them, and signing out ends the user's own session", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  const staff = await signInTo(app, await app.createKey({ userId: "boss", isStaff: true }));
  const viewer = await signInTo(app, await app.createKey({ userId: "auditor", isViewer: true }));
  await staff.open("/console/sessions/");
  assert.match(staff.page.html, /auditor/);
  assert.match(staff.page.html, /This session/);
  await viewer.open("/console/sessions/");
  assert.doesNotMatch(viewer.page.html, /\/end\//);
  await staff.submit(/\/end\/$/);
  assert.doesNotMatch(staff.page.html, /auditor/);
  assert.equal((await viewer.open("/console/payments/")).path, "/console/sign-in/");
  await staff.submit(/sign-out/);
  assert.equal(staff.page.path, "/console/sign-in/");
  assert.equal((await staff.open("/console/payments/")).path, "/console/sign-in/");
});

Deno.test("console: a sign-in gets a new session, and does not use a cookie that an attacker has set", async () => {
  await using app = await openApp({ databaseUrl });
  const key = await app.createKey({ isStaff: true });
  const browsing = browse(app);
  browsing.cookies.set("console_session", "planted");
  await browsing.open("/console/sign-in/");
  await browsing.submit(/sign-in/, { credential: key });
  assert.notEqual(browsing.cookies.get("console_session"), "planted");
});

Deno.test("console: with TLS, a page is shown only in the session of the cookie that is bound to the host", async () => {
  await using app = await openApp({ databaseUrl });
  const key = await app.createKey({ userId: "mallory", isStaff: true });
  const attacker = await signInTo(app, key, { origin: "https://console.example" });
  const token = attacker.cookies.get("__Host-console_session")!;
  const fromBrowser = { "Sec-Fetch-Site": "none" };
  const pathOf = async (origin: string, cookie: string, headers: HeadersInit) => {
    const victim = browse(app, { origin });
    victim.cookies.set(cookie, token);
    return (await victim.open("/console/payments/", headers)).path;
  };
  const [signIn, payments] = ["/console/sign-in/", "/console/payments/"];
  const planted = "console_session";
  assert.equal(await pathOf("https://console.example", planted, fromBrowser), signIn);
  assert.equal(
    await pathOf("https://console.example", "__Host-console_session", fromBrowser),
    payments,
  );
  // Without TLS, browsers send the header only to their own machine.
  assert.equal(await pathOf("http://console.example", planted, {}), payments);
  for (const host of ["localhost", "console.localhost:8000", "127.0.0.1:8000", "[::1]:8000"]) {
    assert.equal(await pathOf(`http://${host}`, planted, fromBrowser), payments, host);
  }
  for (const host of ["localhost.example", "127.0.0.1.example", "notlocalhost"]) {
    assert.equal(await pathOf(`https://${host}`, planted, fromBrowser), signIn, host);
  }
});

/** Sends the form to sign in with each credential, one after the other; returns the statuses. */
async function trySignIns(app: TestApp, credentials: string[]): Promise<number[]> {
  const browsing = browse(app);
  await browsing.open("/console/sign-in/");
  const token = browsing.cookies.get("console_form")!;
  const statuses: number[] = [];
  for (const credential of credentials) {
    const { status, headers } = await browsing.post("/console/sign-in/", { token, credential });
    if (status === 429) assert.ok(Number(headers.get("retry-after")) > 0);
    statuses.push(status);
  }
  return statuses;
}

const REFUSED = 403;
const LIMITED = 429;

function failures(count: number): number[] {
  return Array<number>(count).fill(REFUSED);
}

Deno.test("console: after ten failed sign-ins of an address, wrong credentials get 429, and valid ones sign in", async () => {
  const now = Date.now();
  await using app = await openApp({ databaseUrl, env: WITH_JWTS, now: () => now });
  const signed = (secret: string) =>
    new SignJWT({ staff: true }).setProtectedHeader({ alg: "HS256" })
      .setSubject("finance").setIssuer(WITH_JWTS.AUTH_JWT_ISSUER)
      .setAudience(WITH_JWTS.AUTH_JWT_AUDIENCE)
      .setExpirationTime(Math.floor(now / 1000) + 600)
      .sign(new TextEncoder().encode(secret));
  const user = await app.createKey();
  const wrongJwt = await signed("b".repeat(48));
  // A user's key is valid, but not for the console. After the first use it is cached.
  const wrong = ["gk_wrong", "", wrongJwt, user, user];
  assert.deepEqual(await trySignIns(app, [...wrong, ...wrong]), failures(10));
  assert.deepEqual(await trySignIns(app, wrong), wrong.map(() => LIMITED));
  const staff = await app.createKey({ isStaff: true });
  const viewer = await app.createKey({ isViewer: true });
  for (const credential of [staff, staff, viewer, await signed(SECRET)]) {
    assert.equal((await signInTo(app, credential)).page.path, "/console/");
  }
  assert.deepEqual(await trySignIns(app, ["gk_wrong"]), [LIMITED], "valid ones change no count");
});

Deno.test("console: above the limit of an address, the keys of all sign-ins are looked up together", async () => {
  const now = Date.now();
  let queries = 0;
  await using app = await openApp({
    databaseUrl,
    now: () => now,
    wrapDatabase: (database): Database => ({
      ...database,
      query(work, name) {
        queries++;
        return database.query(work, name);
      },
    }),
  });
  await trySignIns(app, Array<string>(10).fill("gk_wrong"));
  queries = 0;
  const guesses = Array.from({ length: 50 }, (_, number) => trySignIns(app, [`gk_${number}`]));
  assert.deepEqual((await Promise.all(guesses)).flat(), guesses.map(() => LIMITED));
  assert.ok(queries <= 10, `${queries} queries for 50 keys`);
});

Deno.test("console: a sign-in that fails because the database is unavailable is no failed attempt", async () => {
  const now = Date.now();
  let isUnavailable = true;
  await using app = await openApp({
    databaseUrl,
    now: () => now,
    wrapDatabase: (database): Database => ({
      ...database,
      async query(work, name) {
        if (isUnavailable) throw new DatabaseUnavailable("The database is unavailable");
        return await database.query(work, name);
      },
    }),
  });
  const wrong = Array<string>(11).fill("gk_wrong");
  assert.deepEqual(await trySignIns(app, wrong), wrong.map(() => 503));
  isUnavailable = false;
  assert.deepEqual(await trySignIns(app, wrong), [...failures(10), LIMITED]);
});
