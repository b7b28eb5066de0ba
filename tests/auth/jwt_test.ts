import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createSign, generateKeyPairSync } from "node:crypto";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { EXPORT_PAGE } from "../../core/reports/export_stream.ts";
import { MeSchema } from "../../routes/access/me.ts";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { follow } from "../support/events/event_stream.ts";
import { assertProblem } from "../support/problem.ts";
import { insertPayments } from "../support/reports/insert_payments.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase();

const SECRET = "a shared secret of more than 32 characters";
const ISSUER = "https://id.example.com/";
const COMMON = {
  ...REAL_INSTALLATION,
  AUTH_JWT_ISSUER: ISSUER,
  AUTH_JWT_AUDIENCE: "payments",
  AUTH_STAFF_CLAIM: "https://example.com/staff",
};
const WITH_SECRET = { ...COMMON, AUTH_JWT_SECRET: SECRET };

const nowSeconds = () => Math.floor(Date.now() / 1000);
const goodClaims = (): JWTPayload => ({
  sub: "ada",
  iss: ISSUER,
  aud: "payments",
  exp: nowSeconds() + 60,
});

function sign(
  claims: JWTPayload,
  key: Parameters<SignJWT["sign"]>[0] = new TextEncoder().encode(SECRET),
  header = { alg: "HS256", kid: "one" },
) {
  return new SignJWT(claims).setProtectedHeader(header).sign(key);
}

/** For tests in which any algorithm works: creating an RSA key takes much longer. */
const ALG = "ES256";

/** An identity provider that serves a JWK set, or an error after `fail`. */
async function openIssuer(alg = ALG, extraKeys: object[] = []) {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const keys = [{ ...await exportJWK(publicKey), kid: "one", alg }, ...extraKeys];
  const keySet = JSON.stringify({ keys });
  let answer = () => new Response(keySet, { headers: { "Content-Type": "application/json" } });
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => answer());
  return {
    env: { ...COMMON, AUTH_JWKS_URL: `http://127.0.0.1:${server.addr.port}/jwks.json` },
    publicKey,
    privateKey,
    fail: () => answer = () => new Response("down", { status: 500 }),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("JWT: authenticates its subject if it is signed with the shared secret", async () => {
  await using app = await openApp({ databaseUrl, env: WITH_SECRET });
  const response = await app.as(await sign(goodClaims()), "/me/");
  assert.deepEqual(MeSchema.strict().parse(await response.json()), {
    user_id: "ada",
    is_staff: false,
    role: "user",
    credential: "jwt",
    key_prefix: null,
  });
});

Deno.test("JWT: is staff only if the claim named by AUTH_STAFF_CLAIM is true", async () => {
  await using app = await openApp({ databaseUrl, env: WITH_SECRET });
  const isStaff = async (claims: JWTPayload) => {
    const response = await app.as(await sign({ ...goodClaims(), ...claims }), "/me/");
    return MeSchema.parse(await response.json()).is_staff;
  };
  assert.equal(await isStaff({ "https://example.com/staff": true }), true);
  for (const value of ["true", 1, "false", [true], {}, null]) {
    assert.equal(await isStaff({ "https://example.com/staff": value }), false);
  }
  assert.equal(await isStaff({ staff: true, is_staff: true, admin: true }), false);
});

Deno.test("JWT: is a viewer only if the claim named by AUTH_VIEWER_CLAIM is true and the staff claim is not", async () => {
  const roleFor = async (env: Record<string, string>, claims: JWTPayload) => {
    await using app = await openApp({ databaseUrl, env });
    const response = await app.as(await sign({ ...goodClaims(), ...claims }), "/me/");
    return MeSchema.parse(await response.json()).role;
  };
  const env = { ...WITH_SECRET, AUTH_VIEWER_CLAIM: "auditor" };
  assert.equal(await roleFor(env, { auditor: true }), "viewer");
  for (const auditor of ["true", 1, [true], null]) {
    assert.equal(await roleFor(env, { auditor }), "user");
  }
  assert.equal(await roleFor(env, { viewer: true, is_viewer: true }), "user");
  assert.equal(await roleFor(env, { auditor: true, "https://example.com/staff": true }), "staff");
  assert.equal(await roleFor(WITH_SECRET, { auditor: true }), "user");
});

Deno.test("JWT: is never staff without AUTH_STAFF_CLAIM", async () => {
  const { AUTH_STAFF_CLAIM: _, ...env } = WITH_SECRET;
  await using app = await openApp({ databaseUrl, env });
  const response = await app.as(
    await sign({ ...goodClaims(), undefined: true, null: true }),
    "/me/",
  );
  assert.equal(MeSchema.parse(await response.json()).is_staff, false);
});

Deno.test("JWT: is rejected if claims are missing or wrong, or if it is expired or not yet valid", async () => {
  await using app = await openApp({ databaseUrl, env: WITH_SECRET });
  const { exp: _exp, ...noExpiry } = goodClaims();
  const { sub: _sub, ...noSubject } = goodClaims();
  const { iss: _iss, ...noIssuer } = goodClaims();
  const { aud: _aud, ...noAudience } = goodClaims();
  const refused: JWTPayload[] = [
    ...[noExpiry, noSubject, noIssuer, noAudience],
    { ...goodClaims(), exp: nowSeconds() - 1 },
    { ...goodClaims(), nbf: nowSeconds() + 60 },
    { ...goodClaims(), iss: "https://evil.example.com/" },
    { ...goodClaims(), aud: "another" },
    { ...goodClaims(), aud: ["another", "third"] },
    { ...goodClaims(), sub: "" },
    { ...goodClaims(), sub: "x".repeat(256) },
    { ...goodClaims(), sub: "nul\u0000" },
    { ...goodClaims(), sub: 7 as unknown as string },
  ];
  for (const claims of refused) {
    const response = await app.as(await sign(claims), "/me/");
    await assertProblem(response, 401, "unauthenticated");
  }
});

Deno.test("JWT: is rejected if it has a wrong signature, another algorithm or no signature", async () => {
  await using app = await openApp({ databaseUrl, env: WITH_SECRET });
  const good = await sign(goodClaims());
  const [head, body, signature] = good.split(".") as [string, string, string];
  const forged = btoa(JSON.stringify({ ...goodClaims(), sub: "mallory" })).replaceAll("=", "");
  const { privateKey } = await generateKeyPair(ALG);
  const refused = [
    new UnsecuredJWT(goodClaims()).encode(),
    await sign(goodClaims(), new TextEncoder().encode(SECRET + "x")),
    await sign(goodClaims(), privateKey, { alg: ALG, kid: "one" }),
    `${head}.${forged}.${signature}`,
    ...[`${head}.${body}.`, `..`, `.${body}.${signature}`, `${good}.`, `${good}x`, "a.b.c"],
  ];
  for (const token of refused) {
    await assertProblem(await app.as(token, "/me/"), 401, "unauthenticated");
  }
});

for (const alg of ["RS256", "PS256", "ES256", "EdDSA"]) {
  Deno.test(`JWT: authenticates its subject if it is signed by a key of the JWKS (${alg})`, async () => {
    await using issuer = await openIssuer(alg);
    await using app = await openApp({ databaseUrl, env: issuer.env });
    const token = await sign(goodClaims(), issuer.privateKey, { alg, kid: "one" });
    assert.equal((await app.as(token, "/me/")).status, 200);
  });
}

Deno.test("JWT: is rejected if a JWKS is configured and the JWT is signed with a shared secret or an unknown key", async () => {
  await using issuer = await openIssuer();
  await using app = await openApp({ databaseUrl, env: issuer.env });
  const publicJwk = await exportJWK(issuer.publicKey);
  const secrets = [JSON.stringify(publicJwk), publicJwk.x!, SECRET];
  for (const secret of secrets) {
    const token = await sign(goodClaims(), new TextEncoder().encode(secret));
    await assertProblem(await app.as(token, "/me/"), 401, "unauthenticated");
  }
  const otherKeyPair = await generateKeyPair(ALG);
  for (const kid of ["one", "two"]) {
    const token = await sign(goodClaims(), otherKeyPair.privateKey, { alg: ALG, kid });
    await assertProblem(await app.as(token, "/me/"), 401, "unauthenticated");
  }
});

Deno.test("JWT: is verified with each key of the JWKS if it has no kid", async () => {
  const { publicKey } = await generateKeyPair(ALG);
  const otherKey = { ...await exportJWK(publicKey), kid: "two", alg: ALG };
  await using issuer = await openIssuer(ALG, [otherKey]);
  await using app = await openApp({ databaseUrl, env: issuer.env });
  const withoutKid = await new SignJWT(goodClaims()).setProtectedHeader({ alg: ALG })
    .sign(issuer.privateKey);
  assert.equal((await app.as(withoutKid, "/me/")).status, 200);
  const otherKeyPair = await generateKeyPair(ALG);
  const forged = await new SignJWT(goodClaims()).setProtectedHeader({ alg: ALG })
    .sign(otherKeyPair.privateKey);
  await assertProblem(await app.as(forged, "/me/"), 401, "unauthenticated");
});

Deno.test("JWT: is rejected if signed by a weak key", async () => {
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 });
  const jwk = { ...weak.publicKey.export({ format: "jwk" }), kid: "weak", alg: "RS256" };
  await using issuer = await openIssuer(ALG, [jwk]);
  await using app = await openApp({ databaseUrl, env: issuer.env });
  const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${encodePart({ alg: "RS256", kid: "weak" })}.${encodePart(goodClaims())}`;
  const signature = createSign("sha256").update(signed).sign(weak.privateKey, "base64url");
  await assertProblem(await app.as(`${signed}.${signature}`, "/me/"), 401, "unauthenticated");
});

Deno.test("JWT: gets 503 while the JWKS is not available; API keys still work", async () => {
  await using issuer = await openIssuer();
  issuer.fail();
  await using app = await openApp({ databaseUrl, env: issuer.env });
  const token = await sign(goodClaims(), issuer.privateKey, { alg: ALG, kid: "one" });
  const response = await app.as(token, "/me/");
  assert.ok(Number(response.headers.get("retry-after")) > 0);
  await assertProblem(response, 503, "unavailable");
  assert.equal((await app.as(await app.createKey(), "/me/")).status, 200);
});

Deno.test("JWT: is rejected without AUTH_JWKS_URL and AUTH_JWT_SECRET", async () => {
  await using app = await openApp({ databaseUrl });
  await assertProblem(await app.as(await sign(goodClaims()), "/me/"), 401, "unauthenticated");
});

Deno.test("JWT: an event stream ends when the JWT expires, not before", async () => {
  let now = Date.now();
  await using app = await openApp({
    databaseUrl,
    env: WITH_SECRET,
    now: () => now,
    streamOptions: { keyCheckMs: 10, heartbeatMs: 10 },
  });
  const exp = nowSeconds() + 60;
  await using follower = await follow(app, await sign({ ...goodClaims(), exp }));
  let hasEnded = false;
  follower.ended.then(() => hasEnded = true);
  now = exp * 1_000 - 1;
  const beats = follower.heartbeats();
  await until("the stream was checked", () => follower.heartbeats() > beats + 2);
  assert.equal(hasEnded, false);
  now = exp * 1_000;
  await until("the stream ends", () => hasEnded);
});

Deno.test("JWT: an export is cut when the JWT expires, not before", async () => {
  let now = Date.now();
  await using app = await openApp({ databaseUrl, env: WITH_SECRET, now: () => now });
  await insertPayments(app, 3 * EXPORT_PAGE, "export-reader");
  const exp = nowSeconds() + 60;
  const token = await sign({ ...goodClaims(), sub: "export-reader", exp });
  const [whole, cut] = [
    await app.as(token, "/exports/payments/"),
    await app.as(token, "/exports/payments/"),
  ];
  now = exp * 1_000 - 1;
  assert.equal((await whole.text()).split("\r\n").length, 1 + 3 * EXPORT_PAGE + 1);
  now = exp * 1_000;
  await assert.rejects(cut.text());
  const failures = app.logged().filter(({ event }) => event === "export_failed");
  assert.equal(failures.length, 1);
  assert.match(JSON.stringify(failures), /its token has expired/);
});
