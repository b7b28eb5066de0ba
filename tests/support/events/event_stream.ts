/** Those who follow events in tests: they read a stream as client libraries do. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import type postgres from "postgres";
import { EventSchema } from "../../../routes/events/schemas.ts";
import type { TestApp } from "../app.ts";
import { askService } from "../client.ts";
import { checkEvent } from "../document/contract.ts";
import { until } from "../until.ts";

export type Event = z.output<typeof EventSchema>;

export interface Told {
  id: string;
  event: string;
  data: string;
}

export interface Follower extends AsyncDisposable {
  response: Response;
  /** What was told so far. */
  told: Told[];
  /** What it would go on after. */
  lastId(): string | null;
  /** How many comments came. */
  beats(): number;
  /** How it ended: by itself, or broken off. */
  over: Promise<"ended" | "broken">;
  /** Reads on until there are so many. */
  untilTold(count: number): Promise<Told[]>;
  /** Goes away. */
  close(): Promise<void>;
}

export interface FollowOptions {
  /** The last one that was heard. */
  after?: string;
  query?: string;
}

type Ask = (path: string, init: RequestInit) => Promise<Response>;

/** Follows as the owner of a key: an app without a port, or with one. */
export async function follow(
  where: TestApp | string,
  key: string,
  { after, query = "" }: FollowOptions = {},
): Promise<Follower> {
  const ask: Ask = typeof where === "string"
    ? (path, init) => askService(where + path, init)
    : async (path, init) => await where.request(path, init);
  const headers = new Headers({ Authorization: `Bearer ${key}` });
  if (after) headers.set("Last-Event-ID", after);
  const response = await ask(`/events/stream/${query}`, { headers });
  if (response.status !== 200) assert.fail(await response.text());
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body!.getReader();
  const told: Told[] = [];
  let lastId: string | null = null;
  let beats = 0;

  async function read(): Promise<"ended" | "broken"> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "ended";
        const blocks = (text + decoder.decode(value, { stream: true })).split("\n\n");
        text = blocks.pop()!;
        for (const block of blocks) take(block);
      }
    } catch {
      return "broken";
    }
  }

  function take(block: string): void {
    if (block === ":") beats++;
    else if (block.startsWith("id: ")) {
      const match = block.match(/^id: (\S+)(?:\nevent: (\S+)\ndata: ([^\n]+))?$/);
      assert.ok(match, block);
      lastId = match[1]!;
      if (match[2]) told.push({ id: lastId, event: match[2], data: match[3]! });
    } else assert.match(block, /^retry: \d+$/);
  }

  const over = read();
  async function close(): Promise<void> {
    await reader.cancel().catch(() => {});
    await over;
  }
  return {
    response,
    told,
    lastId: () => lastId,
    beats: () => beats,
    over,
    async untilTold(count) {
      await until(`${count} were told`, () => told.length >= count);
      return told;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The event that was told, as the document has it; what goes before it says the same. */
export function parseTold({ id, event, data }: Told): Event {
  const said = JSON.parse(data);
  checkEvent(said);
  const parsed = EventSchema.parse(said);
  assert.equal(parsed.id, id);
  assert.equal(parsed.name, event);
  return parsed;
}

/** An app on a real port. */
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

/** All events there are, as `GET /events/` has them, oldest first. */
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
  /** How much it holds. */
  bytes?: number;
}

/** Writes an event as nobody does: without a change, and without telling of it. */
export async function writeEvent(sql: postgres.ISql, event: WrittenEvent = {}): Promise<string> {
  const { name = "payment_settled", userId = null, resourceId = randomUUID() } = event;
  const { sequence = 1, bytes = 0 } = event;
  const id = randomUUID();
  await sql`
    insert into gateway.events
      (id, name, resource, resource_id, sequence, user_id, data, created_at)
    values (${id}, ${name}, 'payment', ${resourceId}, ${sequence}, ${userId},
      json_build_object('filling', repeat('x', ${bytes}::int)), now())`;
  return id;
}
