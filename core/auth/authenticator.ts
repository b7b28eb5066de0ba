/** Authenticates a request by its credential, which is an API key or a JWT. */

import type { Database } from "../../db/connection/database.ts";
import type { Clock } from "../time/clock.ts";
import type { JwtConfig } from "../config/config.ts";
import { createApiKeyVerifier } from "./api_keys.ts";
import type { Caller } from "./caller.ts";
import { createJwtVerifier } from "./jwt.ts";

export interface AuthenticatorOptions {
  database: Database;
  clock: Clock;
  jwt: JwtConfig | null;
  acceptDevelopmentKeys: boolean;
}

/**
 * Null if the credential is not valid. Returns a promise unless the API key is cached. `mayLookUp`
 * is called for an API key that is not cached; it returns false if the sender has sent too many
 * wrong keys.
 */
export type Authenticate = (
  credential: string,
  mayLookUp: () => boolean,
) => Caller | Promise<Caller | null>;

export function createAuthenticator(options: AuthenticatorOptions): Authenticate {
  const verifyApiKey = createApiKeyVerifier(options);
  const verifyJwt = options.jwt && createJwtVerifier(options.jwt, options.clock);
  return (credential, mayLookUp) =>
    verifyJwt && looksLikeJwt(credential)
      ? verifyJwt(credential)
      : verifyApiKey(credential, mayLookUp);
}

function looksLikeJwt(credential: string): boolean {
  return !credential.startsWith("gk_") && credential.split(".", 4).length === 3;
}
