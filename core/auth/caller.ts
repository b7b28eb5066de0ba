/** The authenticated caller of a request, and the checks of its role. */

import { ServiceError } from "../errors.ts";

/**
 * - `user`: reads and changes its own resources;
 * - `viewer`: reads what staff can read, and changes nothing;
 * - `staff`: reads and changes the resources of all users.
 */
export const ROLES = ["user", "viewer", "staff"] as const;

export type Role = (typeof ROLES)[number];

export interface Caller {
  userId: string;
  isStaff: boolean;
  /** Never true for staff. */
  isViewer: boolean;
  credential: "api_key" | "jwt";
  /** The part of the API key that may be shown; null with a JWT. */
  keyPrefix: string | null;
  /** What the caller's order ids begin with; absent: no prefix. */
  orderPrefix?: string;
  /** When the JWT or console session expires, in milliseconds; absent if an API key was sent. */
  expiresAt?: number;
  /** The console session; absent if the caller sent an API key or a JWT. */
  sessionId?: string;
  /** The actor to store instead of the credential: a customer acts for the owner of a checkout. */
  actor?: string;
}

/** The actor that is stored with each change that the caller makes. */
export function actorOf({ actor, credential, keyPrefix, userId }: Caller): string {
  return actor ?? `${credential}:${keyPrefix ?? userId}`;
}

/** Required of user ids and key names: they are logged, listed and returned in responses. */
export function isPrintableText(text: string): boolean {
  return /^(?=.*\S)\P{C}{1,255}$/u.test(text);
}

export function roleOf({ isStaff, isViewer }: Pick<Caller, "isStaff" | "isViewer">): Role {
  return isStaff ? "staff" : isViewer ? "viewer" : "user";
}

/** Whether the caller may read the resources of all users. */
export function canReadAll({ isStaff, isViewer }: Caller): boolean {
  return isStaff || isViewer;
}

/** For requests that do more than read stored data. */
export function refuseViewers({ isViewer }: Caller): void {
  if (!isViewer) return;
  throw new ServiceError("forbidden", {
    detail: "A viewer can only read stored data. Use a staff or user credential.",
  });
}

/** For changes that only staff may make. */
export function requireStaff({ isStaff }: Caller): void {
  if (isStaff) return;
  throw new ServiceError("forbidden", {
    detail: "Only staff can do this. Use a staff credential.",
  });
}

/** For data that only staff and viewers may read. */
export function requireReadAll(caller: Caller): void {
  if (canReadAll(caller)) return;
  throw new ServiceError("forbidden", {
    detail: "Only staff and viewers can read this. Use a staff or viewer credential.",
  });
}
