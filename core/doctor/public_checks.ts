/** Checks of the way from outside to this service, with requests to `PUBLIC_URL`. */

import { createHash } from "node:crypto";
import { deleteApiKey } from "../../db/access/api_keys.ts";
import { findSelfTest } from "../../db/payments/notifications.ts";
import { createKey } from "../auth/api_keys.ts";
import { MAX_BODY_BYTES } from "../fields/input.ts";
import { isLocal, NOTIFICATION_PATH } from "../gateway/notification_url.ts";
import { newSelfTestOrder, type SelfTestPayload } from "../notifications/self_test.ts";
import { displayPrefix } from "../secrets/api_key.ts";
import {
  type Examined,
  fault,
  type Found,
  notTested,
  ok,
  problemText,
  warning,
  type WithDatabase,
} from "./check_result.ts";

/** All checks together stay below the 60 seconds after which proxies give up. */
const TIMEOUT_MS = 10_000;

/** If a firewall drops packets, the request times out: then the checks that need it do not run. */
export async function checkPublicUrl({ publicUrl, gateway }: Examined): Promise<Found> {
  if (publicUrl === null) return notTested("public_url_missing");
  if (isLocal(publicUrl) && !isLocal(gateway.baseUrl)) return warning("public_url_local");
  const answer = await request(`${publicUrl}/health/live/`);
  if ("found" in answer) return answer.found;
  const { url, status, text } = answer;
  const isThisService = status === 200 && text === JSON.stringify({ status: "live" });
  if (isThisService) return ok("public_url_ok", { url: publicUrl });
  return explainStatus(answer) ?? fault("other_service", { url, status });
}

/** Headers that callers of the API send, and that a proxy may remove. */
const PROBE_HEADERS = {
  "content-type": "application/json",
  "idempotency-key": "doctor",
  "prefer": "respond-async",
  "accept-language": "id",
  "user-agent": "payment-gateway-doctor",
};

export async function checkNotification(examined: WithDatabase): Promise<Found> {
  const sent = await sendSelfTest(examined, 0);
  if ("found" in sent) return sent.found;
  const { url, status, text, orderId } = sent;
  if (/"code":"signature_invalid"/.test(text)) return fault("notification_signature", { url });
  const explained = explainStatus(sent);
  if (explained) return explained;
  if (status !== 200) return fault("other_service", { url, status });
  const stored = await findArrived(examined, orderId);
  if (!stored) return fault("notification_elsewhere", { url });
  const lost = stored.raw_payload.lost_headers as string[];
  return lost.length === 0
    ? ok("notification_ok")
    : fault("headers_lost", { headers: lost.join(", ") });
}

/** Sends a body as large as the service accepts. */
export async function checkBodySize(examined: WithDatabase): Promise<Found> {
  const size = MAX_BODY_BYTES / 1_024;
  const sent = await sendSelfTest(examined, MAX_BODY_BYTES);
  // The address was reached a moment ago: this connection was closed because of the body.
  if ("found" in sent) return fault("body_limit", { size, problem: "the connection is closed" });
  const stored = sent.status === 200 ? await findArrived(examined, sent.orderId) : null;
  if (stored?.raw_payload.filler_length === sent.fillerLength) return ok("body_ok", { size });
  return fault("body_limit", { size, problem: `status ${sent.status}` });
}

async function findArrived({ database }: WithDatabase, orderId: string) {
  return await database.query((sql) => findSelfTest(sql, orderId), "find self-test");
}

interface Answer {
  url: string;
  status: number;
  location: string | null;
  /** The beginning of the body. */
  text: string;
}

type Unanswered = { found: Found };

/** `bytes`: the size of the body; 0: as small as possible. */
async function sendSelfTest(
  { publicUrl, config }: Examined,
  bytes: number,
): Promise<(Answer & { orderId: string; fillerLength: number }) | Unanswered> {
  const orderId = newSelfTestOrder();
  const signed = { order_id: orderId, status_code: "200", gross_amount: "0.00" };
  const signature_key = createHash("sha512")
    .update(Object.values(signed).join("") + config.gateway.serverKey).digest("hex");
  const payload: SelfTestPayload = {
    ...signed,
    transaction_status: "doctor",
    signature_key,
    sent_headers: PROBE_HEADERS,
    filler: "",
  };
  payload.filler = "x".repeat(Math.max(0, bytes - JSON.stringify(payload).length));
  const answer = await request(publicUrl + NOTIFICATION_PATH, {
    method: "POST",
    headers: PROBE_HEADERS,
    body: JSON.stringify(payload),
  });
  return "found" in answer ? answer : { ...answer, orderId, fillerLength: payload.filler.length };
}

/** A platform responds with it if it does not let a service call itself. */
const LOOP_DETECTED = 508;

/** Null: the status alone does not show a fault of the proxy. */
function explainStatus({ url, status, location }: Answer): Found | null {
  if (status === LOOP_DETECTED) {
    const { host } = new URL(url);
    return notTested("public_url_unreachable", { host, url, problem: `status ${status}` });
  }
  if (status >= 300 && status < 400) {
    return fault("redirect", { url, status, location: location ?? "" });
  }
  if (status === 404) return fault("wrong_path", { url });
  if (status === 401 || status === 403) return fault("refused", { url, status });
  return status >= 502 && status <= 504 ? fault("proxy_error", { url, status }) : null;
}

async function request(url: string, init: RequestInit = {}): Promise<Answer | Unanswered> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { ...init, redirect: "manual", signal });
    const { status, headers } = response;
    const text = (await response.text()).slice(0, 1_000);
    return { url, status, location: originAndPath(headers.get("location")), text };
  } catch (error) {
    return { found: explainFailure(url, error) };
  }
}

/** A query could contain a secret. */
function originAndPath(location: string | null): string | null {
  return location?.replace(/[?#].*$/s, "") ?? null;
}

/** Why no response arrived. Only the certificate proves a fault of the address itself. */
function explainFailure(url: string, error: unknown): Found {
  const { host } = new URL(url);
  const problem = problemText(error);
  const certificate = /peer certificate: (.*?)\)*$/.exec(problem)?.[1];
  if (certificate) return fault("certificate", { host, problem: certificate });
  if (/dns error|failed to lookup/i.test(problem)) {
    return warning("public_url_unresolved", { host });
  }
  return notTested("public_url_unreachable", { host, url, problem: reasonOf(problem) });
}

/** The errors of `fetch` repeat the URL and name their libraries. */
function reasonOf(problem: string): string {
  return /timed out/i.test(problem) ? "no response in time" : problem.split(": ").at(-1)!;
}

/** Opens the stream with an API key of its own, of a user who owns nothing. */
export async function checkStream({ database, publicUrl }: WithDatabase): Promise<Found> {
  const key = await createKey(database, { userId: "doctor", isStaff: false, name: "doctor" });
  try {
    return await readStream(`${publicUrl}/events/stream/`, key);
  } finally {
    await database.query((sql) => deleteApiKey(sql, displayPrefix(key)), "delete key");
  }
}

/** The service sends the first line when the stream opens. */
async function readStream(url: string, key: string): Promise<Found> {
  const headers = { Authorization: `Bearer ${key}`, Accept: "text/event-stream" };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal });
    const { status, body } = response;
    if (status !== 200) {
      await body?.cancel();
      if (status === 401) return fault("stream_unauthorized");
      const location = originAndPath(response.headers.get("location"));
      const answer = { url, status, location, text: "" };
      return explainStatus(answer) ?? fault("other_service", { url, status });
    }
    const reader = body!.getReader();
    const { done } = await reader.read();
    await reader.cancel();
    return done ? fault("other_service", { url, status }) : ok("stream_ok");
  } catch (error) {
    if (signal.aborted) return fault("stream_buffered");
    return explainFailure(url, error);
  }
}
