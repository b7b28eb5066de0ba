import assert from "node:assert/strict";
import { INTRODUCTION } from "../../openapi/introduction.ts";
import { ProblemSchema } from "../../http/problems/schema.ts";
import { callService } from "../support/client.ts";
import { preparedFolder, startService } from "../support/service.ts";

const SECTIONS = [
  "Authentication",
  "First charge",
  "Idempotency",
  "Errors",
  "Pagination",
  "Amounts and times",
  "Asynchronous requests",
  "Events and webhooks",
  "Limits",
];

/** The code blocks in a language. */
function snippets(language: string): string[] {
  const blocks = INTRODUCTION.matchAll(/```(\w+)\n(.*?)```/gs);
  return [...blocks].filter(([, found]) => found === language).map(([, , text]) => text!);
}

Deno.test("introduction: each section has a code block", () => {
  const sections = INTRODUCTION.split(/^## /m).slice(1);
  assert.deepEqual(sections.map((section) => section.split("\n")[0]), SECTIONS);
  for (const section of sections) assert.match(section, /```\w+\n/);
});

Deno.test("introduction: its example of a problem document matches the schema", () => {
  const [problem] = snippets("json").map((text) => JSON.parse(text));
  assert.deepEqual(ProblemSchema.parse(problem), problem);
});

Deno.test("introduction: its curl commands succeed", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const values: Record<string, string> = {
    URL: service.url,
    KEY: service.keys.user,
    STAFF_KEY: service.keys.staff,
  };
  const statuses = [];
  for (const text of snippets("sh")) {
    const command = text.replace(/^export .*\n/, "").replaceAll(
      /\$(\w+)/g,
      (_, name) =>
        values[name] ??
          assert.fail(`the introduction uses $${name}, but this test has no value for it`),
    );
    const response = await sendCurl(command);
    statuses.push(response.status);
    await response.body?.cancel();
  }
  assert.deepEqual(statuses, [200, 201, 201, 202, 201]);
});

/** Sends the request of a curl command without curl, because not every machine has it. */
async function sendCurl(command: string): Promise<Response> {
  const [, url] = command.match(/^curl (?:-i )?(\S+)/)!;
  const headers = [...command.matchAll(/-H "([^:]+): ([^"]+)"/g)]
    .map(([, name, value]) => [name!, value!] as [string, string]);
  const body = command.match(/-d '([^']+)'/)?.[1];
  return await callService(url!, { method: body ? "POST" : "GET", headers, body });
}
