/** The authenticated caller of a request, and the check for staff. */

import { ServiceError } from "../errors.ts";

export interface Caller {
  userId: string;
  isStaff: boolean;
  credential: "api_key" | "jwt";
  /** The part of the API key that may be shown; null with a JWT. */
  keyPrefix: string | null;
  /** When the JWT expires, in milliseconds. API keys do not expire; they are revoked. */
  expiresAt?: number;
}

/** Required of user ids, because they are logged, listed and returned in responses. */
export function isPrintableText(text: string): boolean {
  return /^(?=.*\S)\P{C}{1,255}$/u.test(text);
}

export function requireStaff({ isStaff }: Caller): void {
  if (!isStaff) throw new ServiceError("forbidden");
}
