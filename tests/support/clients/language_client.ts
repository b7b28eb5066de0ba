/**
 * Calls a client through a program in its language (`call.py`, `call.php`, `Call.java`,
 * `sdk/consumer/every_operation.ts`), and checks that the objects of the client contain the whole
 * response.
 */

import assert from "node:assert/strict";
import { toOpenApi30 } from "../../../sdk/openapi_3_0.ts";
import { callService } from "../client.ts";
import type { Json } from "../gateway/sandbox.ts";
import { PROJECT } from "../project.ts";

const document = toOpenApi30(
  JSON.parse(await Deno.readTextFile(`${PROJECT}/openapi/openapi.json`)),
);

const OPERATIONS = new Map<string, Json>(
  Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) =>
      [operation.operationId, { ...operation, path, method }] as const
    )
  ),
);

/** The operations of the clients. */
export const OPERATION_IDS = [...OPERATIONS.keys()];

/** The operations that send or return text instead of JSON. */
export const TEXT_OPERATION_IDS = OPERATION_IDS.filter((operationId) => {
  const { requestBody, responses } = OPERATIONS.get(operationId);
  const types = [requestBody, responses["200"]].flatMap((body) => Object.keys(body?.content ?? {}));
  return types.some((type) => type.startsWith("text/"));
});

/** Calls an operation with arguments by their names in the document; `body` is the body. */
export type CallOperation = (operationId: string, args?: Json) => Promise<Json>;

export interface LanguageClient extends AsyncDisposable {
  call: CallOperation;
  /** The operations that were called so far. */
  called: Set<string>;
}

export interface ClientProgram {
  command: string[];
  env: Record<string, string>;
  /** How the names of methods and parameters are written. */
  methods: Naming;
  parameters: Naming;
  /** The operations that the client cannot call. The test sends their requests itself. */
  missing?: string[];
}

type Naming = "snake_case" | "camelCase";

/** The service, and a staff key. */
interface Target {
  url: string;
  key: string;
}

/** Starts the program of a language, which sends its requests to `service`. */
export function startLanguageClient(
  service: Target,
  { command: [program, ...args], env, methods, parameters, missing = [] }: ClientProgram,
): LanguageClient {
  const proxy = startRecordingProxy(service.url);
  const process = new Deno.Command(program!, {
    args,
    env: { ...env, CLIENT_SETTINGS: JSON.stringify({ url: proxy.url, key: service.key }) },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const input = process.stdin.getWriter();
  const lines = readLines(process.stdout);
  const called = new Set<string>();
  return {
    called,
    async call(operationId, args = {}) {
      if (missing.includes(operationId)) return await send(service, operationId, args.body);
      const { tags: [tag], requestBody } = OPERATIONS.get(operationId) ?? assert.fail(operationId);
      const { bodyName, bodyType } = describeBody(requestBody, args.body, parameters);
      const entries = Object.entries(args).map(([name, value]) => [
        name === "body" ? bodyName : named(name, parameters),
        value,
      ]);
      const call = {
        api: `${tag}Api`,
        method: named(operationId, methods),
        args: Object.fromEntries(entries),
        bodyName,
        bodyType,
      };
      await input.write(new TextEncoder().encode(JSON.stringify(call) + "\n"));
      const { value: line } = await lines.next();
      const { result, error } = JSON.parse(line ?? assert.fail(`${program} has ended`));
      const { status, body } = proxy.lastResponse();
      assert.ok(!error, `${operationId}: ${error}\n${status} ${body}`);
      assert.ok(status < 300, `${operationId}: ${status} ${body}`);
      const isJson = /^[[{]/.test(body);
      assert.deepEqual(
        comparable(result ?? ""),
        comparable(isJson ? JSON.parse(body) : body),
        `${operationId}: the result must contain the response`,
      );
      called.add(operationId);
      return isJson ? JSON.parse(body) : body;
    },
    async [Symbol.asyncDispose]() {
      await input.close();
      await process.status;
      await lines.return(undefined);
      await proxy.close();
    },
  };
}

async function send({ url, key }: Target, operationId: string, body?: Json): Promise<Json> {
  const { path, method, requestBody } = OPERATIONS.get(operationId);
  const [type] = Object.keys(requestBody?.content ?? {});
  const headers = { Authorization: `Bearer ${key}`, ...(type && { "Content-Type": type }) };
  const init = {
    method: method.toUpperCase(),
    headers,
    body: type === "application/json" ? JSON.stringify(body) : body,
  };
  const response = await callService(url + path, init);
  const text = await response.text();
  assert.ok(response.ok, `${operationId}: ${response.status} ${text}`);
  return text.startsWith("{") ? JSON.parse(text) : text;
}

/**
 * The parameter and the class of a body. A union has the class of its payment type. Text, and
 * objects with any members, have no class.
 */
function describeBody(requestBody: Json, body: Json, parameters: Naming) {
  const schema = Object.values<Json>(requestBody?.content ?? {})[0]?.schema;
  const name = schema?.$ref?.split("/").at(-1);
  if (!name) return { bodyName: "body", bodyType: null };
  const { additionalProperties, discriminator } = document.components.schemas[name];
  if (additionalProperties) return { bodyName: named("RequestBody", parameters), bodyType: null };
  const type = discriminator?.mapping[body.payment_type].split("/").at(-1) ?? name;
  return { bodyName: named(name, parameters), bodyType: body === undefined ? null : type };
}

/** `Idempotency-Key` becomes `idempotency_key` or `idempotencyKey`. */
function named(name: string, naming: Naming): string {
  const words = name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase().split(/[-_]/);
  if (naming === "snake_case") return words.join("_");
  return words.map((word, index) => index ? word[0]!.toUpperCase() + word.slice(1) : word).join("");
}

/**
 * Without null, which the clients leave out, and with times in seconds, because each language
 * writes them differently. In PHP, an empty object is an empty array.
 */
function comparable(value: Json): Json {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== null);
    if (members.length === 0) return [];
    return Object.fromEntries(members.map(([name, member]) => [name, comparable(member)]));
  }
  const isTime = typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value);
  return isTime ? Math.floor(Date.parse(value) / 1_000) : value;
}

/** Passes requests on to the service, and remembers the last response. */
function startRecordingProxy(target: string) {
  let last = { status: 0, body: "" };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method } = request;
    const headers = new Headers(request.headers);
    for (const name of ["connection", "host"]) headers.delete(name);
    const body = ["GET", "HEAD"].includes(method) ? undefined : await request.arrayBuffer();
    const response = await callService(target + pathname + search, {
      method,
      headers,
      body: body?.byteLength ? body : undefined,
    });
    last = { status: response.status, body: await response.text() };
    const passedOn = new Headers(response.headers);
    for (const name of ["content-encoding", "content-length"]) passedOn.delete(name);
    return new Response(last.body || null, { status: last.status, headers: passedOn });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    lastResponse: () => last,
    close: () => server.shutdown(),
  };
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
