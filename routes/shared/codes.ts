/** Which errors operations have in common. */

import type { ErrorCode } from "../../core/errors.ts";

/** Whoever asks for anything. */
export const OF_CALLERS = [
  "unauthenticated",
  "rate_limited",
  "unavailable",
] as const satisfies ErrorCode[];

/** Whatever can be sent a body, and needs none. */
export const OF_EMPTY_BODY = [
  "payload_too_large",
  "unsupported_media_type",
] as const satisfies ErrorCode[];

/** Whatever has a body. */
export const OF_BODY = [
  "validation_error",
  "malformed_json",
  ...OF_EMPTY_BODY,
] as const satisfies ErrorCode[];

/** Whatever has a body, and may bear an `Idempotency-Key`. */
export const OF_INPUT = [
  ...OF_BODY,
  "idempotency_in_progress",
  "idempotency_key_reused",
] as const satisfies ErrorCode[];

/** Whatever asks the gateway. */
export const OF_GATEWAY = [
  "gateway_error",
  "gateway_validation",
  "gateway_authentication",
  "gateway_rate_limited",
  "gateway_unreachable",
  "gateway_timeout",
] as const satisfies ErrorCode[];
