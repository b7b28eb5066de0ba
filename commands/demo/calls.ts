/** The requests of the demo: to the API of the service, and to the sandbox as its customers. */

import { SANDBOX_CLIENT_KEY } from "../../core/config/settings.ts";

// deno-lint-ignore no-explicit-any -- responses of the service's own API
export type Json = any;

export interface Addresses {
  /** The address of the service, and of its sandbox. */
  url: string;
  sandboxUrl: string;
  /** API keys: of the shop, and of the staff member who refunds. */
  keys: { shop: string; staff: string };
}

export interface Calls {
  /** A request to the service as the shop, or as its staff. */
  shop(method: string, path: string, body?: Json): Promise<Json>;
  staff(method: string, path: string, body?: Json): Promise<Json>;
  /** A request to the control API of the sandbox: customers and banks. */
  sandbox(path: string, body?: Json): Promise<Json>;
  /** A token as the card form in the customer's browser gets it. */
  cardToken(number: string): Promise<string>;
  saveCard(number: string): Promise<string>;
  settlementReport(date: string): Promise<string>;
  upload(report: string): Promise<void>;
}

export function createCalls({ url, sandboxUrl, keys }: Addresses): Calls {
  const control = `${sandboxUrl}/_sandbox`;
  const call = (key: string) => async (method: string, path: string, body?: Json) =>
    await (await send(url + path, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        ...body && { "Content-Type": "application/json" },
        "Idempotency-Key": crypto.randomUUID(),
      },
      ...body && { body: JSON.stringify(body) },
    })).json();
  const cardQuery = (card_number: string) =>
    new URLSearchParams({
      client_key: SANDBOX_CLIENT_KEY,
      card_number,
      card_exp_month: "12",
      card_exp_year: "2099",
      card_cvv: "123",
    });
  return {
    shop: call(keys.shop),
    staff: call(keys.staff),
    sandbox: async (path, body) =>
      await (await send(`${control}/${path}`, {
        method: "POST",
        ...body && {
          body: JSON.stringify(body),
          headers: { "Content-Type": "application/json" },
        },
      })).json(),
    async cardToken(number) {
      return (await (await send(`${sandboxUrl}/v2/token?${cardQuery(number)}`)).json()).token_id;
    },
    async saveCard(number) {
      const query = cardQuery(number);
      query.delete("card_cvv");
      return (await (await send(`${sandboxUrl}/v2/card/register?${query}`)).json()).saved_token_id;
    },
    settlementReport: async (date) =>
      await (await send(`${control}/reports/settlement.csv?date=${date}`)).text(),
    async upload(report) {
      await send(`${url}/reconciliations/`, {
        method: "POST",
        headers: { Authorization: `Bearer ${keys.staff}`, "Content-Type": "text/csv" },
        body: report,
      }).then((response) => response.body?.cancel());
    },
  };
}

async function send(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.ok) return response;
  throw new Error(`${init?.method ?? "GET"} ${url}: ${response.status} ${await response.text()}`);
}
