/** Tells whose a JWT is. */

import { createRemoteJWKSet, customFetch, errors, jwtVerify } from "jose";
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import type { Clock } from "../clock.ts";
import type { JwtConfig } from "../config.ts";
import { ServiceError } from "../errors.ts";
import type { Caller } from "./caller.ts";

/** Never `none`; and never a symmetric one with a JWKS, whose public keys would be the secret. */
const ASYMMETRIC = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const SYMMETRIC = ["HS256", "HS384", "HS512"];

/** Errors that speak of the issuer's key set, not of the token. */
const KEY_SET_ERRORS = [errors.JWKSTimeout.code, errors.JWKSInvalid.code, errors.JOSEError.code];

export function createJwtVerifier(
  { trust, issuer, audience, staffClaim }: JwtConfig,
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

  return async function verifyJwt(token: string): Promise<Caller | null> {
    let payload: JWTPayload;
    try {
      ({ payload } = await jwtVerify(token, key, { ...options, currentDate: new Date(clock()) }));
    } catch (error) {
      if (error instanceof errors.JOSEError && !KEY_SET_ERRORS.includes(error.code)) return null;
      throw new ServiceError("unavailable", {
        detail: "The credential cannot be checked right now.",
        headers: { "Retry-After": "5" },
        cause: error,
      });
    }
    if (!isUserId(payload.sub)) return null;
    return {
      userId: payload.sub,
      isStaff: staffClaim !== null && payload[staffClaim] === true,
      credential: "jwt",
      keyPrefix: null,
    };
  };
}

/** The library leaves the body of a refusal unread, and with it a connection open. */
async function fetchKeySet(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  if (!response.ok) await response.body?.cancel();
  return response;
}

function secretKey(secret: string): JWTVerifyGetKey {
  const bytes = new TextEncoder().encode(secret);
  return () => bytes;
}

function isUserId(sub: unknown): sub is string {
  return typeof sub === "string" && /^\P{Cc}{1,255}$/u.test(sub);
}
