/** Reads event streams in tests, as client libraries do. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import type postgres from "postgres";
import { newId } from "../../../core/ids.ts";
import { COMMITTED_CHANNEL } from "../../../db/events/events.ts";
import { EventSchema } from "../../../routes/events/schemas.ts";
import type { TestApp } from "../app.ts";
import { callService } from "../client.ts";
import { checkEvent } from "../document/contract.ts";
import { until } from "../until.ts";

export type Event = z.output<typeof EventSchema>;

export interface StreamMessage {
  id: string;
  event: string;
  data: string;
}

export interface Follower extends AsyncDisposable {
  response: Response;
  /** The events received so far. */
  messages: StreamMessage[];
  /** The id after which a reconnect would continue. */
  lastId(): string | null;
  /** The number of heartbeats. */
  heartbeats(): number;
  /** How the stream ended: normally (`ended`), or with an error (`broken`). */
  ended: Promise<"ended" | "broken">;
  /** Waits until this many events have arrived. */
  untilReceived(count: number): Promise<StreamMessage[]>;
  /** Disconnects. */
  close(): Promise<void>;
}

export interface FollowOptions {
  /** The id of the last event received. */
  after?: string;
  query?: string;
}

type SendRequest = (path: string, init: RequestInit) => Promise<Response>;

/** Opens a stream as the owner of a key, at an app or at a URL. */
export async function follow(
  target: TestApp | string,
  key: string,
  { after, query = "" }: FollowOptions = {},
): Promise<Follower> {
  const send: SendRequest = typeof target === "string"
    ? (path, init) => callService(target + path, init)
    : async (path, init) => await target.request(path, init);
  const headers = new Headers({ Authorization: `Bearer ${key}` });
  if (after) headers.set("Last-Event-ID", after);
  const response = await send(`/events/stream/${query}`, { headers });
  if (response.status !== 200) assert.fail(await response.text());
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body!.getReader();
  const messages: StreamMessage[] = [];
  let lastId: string | null = null;
  let heartbeats = 0;

  async function read(): Promise<"ended" | "broken"> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "ended";
        const blocks = (text + decoder.decode(value, { stream: true })).split("\n\n");
        text = blocks.pop()!;
        for (const block of blocks) parseBlock(block);
      }
    } catch {
      return "broken";
    }
  }

  function parseBlock(block: string): void {
    if (block === ":") heartbeats++;
    else if (block.startsWith("id: ")) {
      const match = block.match(/^id: (\S+)(?:\nevent: (\S+)\ndata: ([^\n]+))?$/);
      assert.ok(match, block);
      lastId = match[1]!;
      if (match[2]) messages.push({ id: lastId, event: match[2], data: match[3]! });
    } else assert.match(block, /^retry: \d+$/);
  }

  const ended = read();
  async function close(): Promise<void> {
    await reader.cancel().catch(() => {});
    await ended;
  }
  return {
    response,
    messages,
    lastId: () => lastId,
    heartbeats: () => heartbeats,
    ended,
    async untilReceived(count) {
      await until(`${count} events have arrived`, () => messages.length >= count);
      return messages;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The event of a message, checked against the document and the message's id and name. */
export function parseMessage({ id, event, data }: StreamMessage): Event {
  const parsedJson = JSON.parse(data);
  checkEvent(parsedJson);
  const parsed = EventSchema.parse(parsedJson);
  assert.equal(parsed.id, id);
  assert.equal(parsed.name, event);
  return parsed;
}

/** Serves an app on a real port. */
export function serveApp(app: TestApp): { url: string } & AsyncDisposable {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve(options, (request, info) => app.fetch(request, info));
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    async [Symbol.asyncDispose]() {
      app.streams.close();
      await server.shutdown();
    },
  };
}

/** All events by `GET /events/`, oldest first. */
export async function listAll(app: TestApp, staffKey: string): Promise<Event[]> {
  const events: Event[] = [];
  for (let path = "/events/?order=oldest_first&limit=100";;) {
    const response = await app.as(staffKey, path);
    assert.equal(response.status, 200);
    events.push(...EventSchema.array().parse(await response.json()));
    const next = response.headers.get("link")?.match(/<(.+)>/)?.[1];
    if (!next) return events;
    path = next;
  }
}

export interface WrittenEvent {
  name?: string;
  userId?: string | null;
  resourceId?: string;
  sequence?: number;
  /** The size of its data. */
  bytes?: number;
  /** When it was created; by default now, with a random id. */
  createdAt?: Date;
  /** False: the publisher is not woken, and finds the event only at its next poll. */
  hasSignal?: boolean;
}

/** Inserts the row of an event, without the change of a record, and wakes the publisher. */
export async function writeEvent(sql: postgres.ISql, event: WrittenEvent = {}): Promise<string> {
  const { name = "payment_settled", userId = null, resourceId = randomUUID() } = event;
  const { sequence = 1, bytes = 0, createdAt = null, hasSignal = true } = event;
  const id = createdAt === null ? randomUUID() : newId(createdAt);
  await sql`
    with written as (
      insert into gateway.events
        (id, name, resource, resource_id, sequence, user_id, data, created_at)
      values (${id}, ${name}, 'payment', ${resourceId}, ${sequence}, ${userId},
        json_build_object('filling', repeat('x', ${bytes}::int)),
        coalesce(${createdAt}::timestamptz, now()))
      returning id
    ), outbox as (insert into gateway.event_outbox (event_id) select id from written)
    select case when ${hasSignal}::boolean then pg_notify(${COMMITTED_CHANNEL}, '') end`;
  return id;
}
