/** Subscribers that outlive the database: a receiver of webhooks, and readers of all events. */

import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { encodeCursor } from "../../../http/lists/page.ts";
import { callService } from "../client.ts";
import { follow } from "../events/event_stream.ts";
import { openWebhookReceiver } from "../events/webhook_receiver.ts";
import type { Json } from "../gateway/sandbox.ts";
import { assertProblem } from "../problem.ts";
import { until } from "../until.ts";

export interface Subscribers extends AsyncDisposable {
  url: string;
  /** The secret of the webhook endpoint. */
  setSecret(secret: string): void;
  /** Begins to follow the stream, and reads the list to its end. */
  read(serviceUrl: string): Promise<void>;
  /** Both readers get 410 for their last event, and begin again without it. */
  resume(serviceUrl: string): Promise<void>;
  /** Waits until the receiver has the newest event of the list. */
  untilDelivered(serviceUrl: string): Promise<void>;
  /** Asserts that no id, and no number of a resource, was that of two events. */
  assertNoCollision(): void;
  /** The state of each resource, to a receiver that keeps the event with the highest number. */
  states(): Map<string, Json>;
}

export function openSubscribers(staffKey: string): Subscribers {
  const receiver = openWebhookReceiver();
  const headers = { Authorization: `Bearer ${staffKey}` };
  const resources = new AsyncDisposableStack();
  resources.use(receiver);
  const listed: Json[] = [];
  const followers: Awaited<ReturnType<typeof follow>>[] = [];
  let secret = "";
  let cursor: string | null = null;

  const webhooks = (): Json[] =>
    receiver.received.map(({ headers, body }) => {
      const event = new Webhook(secret).verify(new TextDecoder().decode(body), headers) as Json;
      assert.equal(event.id, headers["webhook-id"]);
      return event;
    });
  const streamed = (): Json[] =>
    followers.flatMap(({ messages }) => messages.map(({ data }) => JSON.parse(data)));
  const page = (serviceUrl: string) => {
    const query = new URLSearchParams({ order: "oldest_first", limit: "100" });
    if (cursor !== null) query.set("cursor", encodeCursor(cursor));
    return callService(`${serviceUrl}/events/?${query}`, { headers });
  };
  async function readList(serviceUrl: string): Promise<void> {
    for (;;) {
      const response = await page(serviceUrl);
      assert.equal(response.status, 200, await response.clone().text());
      const events: Json[] = await response.json();
      if (events.length === 0) return;
      listed.push(...events);
      cursor = events.at(-1).id;
    }
  }

  const subscribers: Subscribers = {
    url: receiver.url,
    setSecret: (text) => void (secret = text),
    async read(serviceUrl) {
      followers.push(resources.use(await follow(serviceUrl, staffKey)));
      await readList(serviceUrl);
    },
    async resume(serviceUrl) {
      await assertProblem(await page(serviceUrl), 410, "unknown_event");
      const lastId = followers.at(-1)!.messages.at(-1)!.id;
      const resumed = await callService(`${serviceUrl}/events/stream/`, {
        headers: { ...headers, "Last-Event-ID": lastId },
      });
      await assertProblem(resumed, 410, "unknown_event");
      cursor = null;
      await subscribers.read(serviceUrl);
    },
    async untilDelivered(serviceUrl) {
      await until("all events are delivered", async () => {
        await readList(serviceUrl);
        const received = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
        return listed.every(({ id, name }) => name.startsWith("attention_") || received.has(id));
      });
    },
    assertNoCollision() {
      const contents = new Map<string, string>();
      const numbers = new Map<string, string>();
      for (
        const { id, name, sequence, created_at, data } of [
          ...webhooks(),
          ...streamed(),
          ...listed,
        ]
      ) {
        const content = JSON.stringify([name, sequence, created_at, data.id]);
        assert.equal(contents.get(id) ?? content, content, `two events have the id ${id}`);
        contents.set(id, content);
        const number = `${data.id} ${sequence}`;
        assert.equal(numbers.get(number) ?? id, id, `two events have the number ${number}`);
        numbers.set(number, id);
      }
    },
    states() {
      const last = new Map<string, Json>();
      for (const event of webhooks()) {
        if ((last.get(event.data.id)?.sequence ?? 0) < event.sequence) {
          last.set(event.data.id, event);
        }
      }
      return new Map([...last].map(([id, { data }]) => [id, data]));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
  return subscribers;
}
