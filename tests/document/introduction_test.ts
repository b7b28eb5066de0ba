import assert from "node:assert/strict";
import { INTRODUCTION } from "../../openapi/introduction.ts";
import { ProblemSchema } from "../../routes/schemas/problem.ts";
import { askService } from "../support/client.ts";
import { dataFolder, startService } from "../support/service.ts";

const MATTERS = [
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

/** The snippets in a language. */
function snippets(language: string): string[] {
  const blocks = INTRODUCTION.matchAll(/```(\w+)\n(.*?)```/gs);
  return [...blocks].filter(([, each]) => each === language).map(([, , text]) => text!);
}

Deno.test("the introduction has a section with a snippet for each matter", () => {
  const sections = INTRODUCTION.split(/^## /m).slice(1);
  assert.deepEqual(sections.map((section) => section.split("\n")[0]), MATTERS);
  for (const section of sections) assert.match(section, /```\w+\n/);
});

Deno.test("the introduction's JSON is JSON, and its problem is one", () => {
  const [problem] = snippets("json").map((text) => JSON.parse(text));
  assert.deepEqual(ProblemSchema.parse(problem), problem);
});

Deno.test("the introduction's requests are answered as it says", async () => {
  await using folder = await dataFolder();
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
      (_, name) => values[name] ?? assert.fail(`${name} is not told`),
    );
    const response = await sent(command);
    statuses.push(response.status);
    await response.body?.cancel();
  }
  assert.deepEqual(statuses, [200, 201, 201, 202, 201]);
});

/** What curl would send, for not every machine has it. */
async function sent(command: string): Promise<Response> {
  const [, url] = command.match(/^curl (?:-i )?(\S+)/)!;
  const headers = [...command.matchAll(/-H "([^:]+): ([^"]+)"/g)]
    .map(([, name, value]) => [name!, value!] as [string, string]);
  const body = command.match(/-d '([^']+)'/)?.[1];
  return await askService(url!, { method: body ? "POST" : "GET", headers, body });
}
