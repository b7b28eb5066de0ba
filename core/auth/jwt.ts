/** Verifies a JWT and returns the caller that it identifies. */

import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from "jose";
import type { Clock } from "../time/clock.ts";
import type { JwtConfig } from "../config/config.ts";
import { ServiceError } from "../errors.ts";
import { type Caller, isPrintableText } from "./caller.ts";

/**
 * The algorithm `none` is not accepted. With a JWKS, symmetric algorithms are rejected, too: an
 * attacker could use a public key of the set as the secret.
 */
const ASYMMETRIC = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const SYMMETRIC = ["HS256", "HS384", "HS512"];

export function createJwtVerifier(
  { trust, issuer, audience, staffClaim, viewerClaim }: JwtConfig,
  clock: Clock,
) {
  const options: JWTVerifyOptions = {
    issuer,
    audience,
    algorithms: "secret" in trust ? SYMMETRIC : ASYMMETRIC,
    requiredClaims: ["exp", "sub"],
  };
  const key: JWTVerifyGetKey = "secret" in trust
    ? secretKey(trust.secret)
    : createRemoteJWKSet(new URL(trust.jwksUrl), {
      timeoutDuration: 1_500,
      [customFetch]: fetchKeySet,
    });

  async function verify(token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
    try {
      return (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      // The token has no `kid` and the issuer has several keys: any of them may have signed it.
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const candidate of error) {
        const verified = await jwtVerify(token, candidate, options).catch(() => null);
        if (verified) return verified.payload;
      }
      throw error;
    }
  }

  return async function verifyJwt(token: string): Promise<Caller | null> {
    let payload: JWTPayload;
    try {
      payload = await verify(token, { ...options, currentDate: new Date(clock()) });
    } catch (error) {
      if (!isKeySetFailure(error)) return null;
      throw new ServiceError("unavailable", {
        detail:
          "The JWT cannot be verified because the issuer's key set is not available. Retry later.",
        headers: { "Retry-After": "5" },
        cause: error,
      });
    }
    if (typeof payload.sub !== "string" || !isPrintableText(payload.sub)) return null;
    const isStaff = staffClaim !== null && payload[staffClaim] === true;
    return {
      userId: payload.sub,
      isStaff,
      isViewer: !isStaff && viewerClaim !== null && payload[viewerClaim] === true,
      credential: "jwt",
      keyPrefix: null,
      expiresAt: payload.exp! * 1_000,
    };
  };
}

class KeySetUnavailable extends Error {
  override name = "KeySetUnavailable";
}

/**
 * True if fetching the issuer's key set failed, rather than the token being invalid. The library
 * uses its general error code if the key set is not JSON.
 */
function isKeySetFailure(error: unknown): boolean {
  return error instanceof KeySetUnavailable || error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    (error instanceof errors.JOSEError && error.code === errors.JOSEError.code);
}

async function fetchKeySet(url: string, options: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, options);
    if (response.ok) return response;
    // An unread body would keep the connection open.
    await response.body?.cancel();
    throw new Error(`The server of the JWK set responded with status ${response.status}`);
  } catch (cause) {
    // The library turns a timeout into its own error.
    if (options.signal?.aborted) throw cause;
    throw new KeySetUnavailable("The JWK set cannot be fetched", { cause });
  }
}

function secretKey(secret: string): JWTVerifyGetKey {
  const bytes = new TextEncoder().encode(secret);
  return () => bytes;
}
