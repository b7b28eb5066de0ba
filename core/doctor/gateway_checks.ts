/** Checks of the gateway: the keys, whether it responds, and what the account can do. */

import {
  GatewayAuthenticationError,
  GatewayError,
  isTransactionNotFound,
} from "../gateway/errors.ts";
import { type Examined, fault, type Found, notTested, ok, problemText } from "./check_result.ts";

const HOSTS = { sandbox: "api.sandbox.midtrans.com", production: "api.midtrans.com" };

const DEADLINE_MS = 10_000;

/** `parseConfig` refuses sandbox keys in production; this finds what it cannot decide. */
export function checkKeys({ config }: Pick<Examined, "config">): Found {
  const { environment, baseUrl, serverKey, clientKey } = config.gateway;
  if (environment === "embedded") return ok("keys_embedded");
  const { host } = new URL(baseUrl);
  const isOtherHost = Object.entries(HOSTS).some(([name, each]) =>
    each === host && name !== environment
  );
  if (isOtherHost) return fault("keys_wrong_host", { environment, host });
  if (clientKey !== null && clientKey.startsWith("SB-") !== serverKey.startsWith("SB-")) {
    return fault("keys_mixed");
  }
  return ok("keys_ok", { environment, host });
}

/** Asks for a transaction that does not exist: the gateway answers 404 only to a valid key. */
export async function checkGateway({ gateway }: Examined): Promise<Found> {
  const { host } = new URL(gateway.baseUrl);
  try {
    await gateway.getStatus(`doctor-${crypto.randomUUID()}`, { deadlineMs: DEADLINE_MS });
    return ok("gateway_ok", { host });
  } catch (error) {
    if (error instanceof GatewayAuthenticationError) return fault("gateway_key_refused", { host });
    if (isTransactionNotFound(error)) return ok("gateway_ok", { host });
    if (!(error instanceof GatewayError)) throw error;
    const problem = problemText(error);
    return error.failure === "answered"
      ? fault("gateway_error", { host, problem })
      : fault("gateway_unreachable", { host, problem });
  }
}

export async function checkMethods({ gateway }: Examined): Promise<Found> {
  try {
    const { body } = await gateway.getMerchantPreferences({ deadlineMs: DEADLINE_MS });
    const active = body.payment_channels.filter(({ enabled }) => enabled)
      .flatMap(({ name }) => name ?? []);
    if (active.length > 0) return ok("methods_ok", { methods: active.join(", ") });
    return body.payment_channels.length > 0
      ? fault("methods_none")
      : notTested("methods_unknown", { problem: "its response has no list" });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return notTested("methods_unknown", { problem: problemText(error) });
  }
}
