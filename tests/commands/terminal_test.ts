import assert from "node:assert/strict";
import { Failure, printStartError, readableLog, showSteps } from "../../commands/terminal.ts";
import { createDatabase } from "../support/database/database.ts";
import { hasProgram } from "../support/programs.ts";
import { mainCommand, type ServiceProcess, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const hasPython = await hasProgram("python3", "the tests of the start in a terminal are", [
  ...["-c", "import pty"],
]);

/** Runs a command in a terminal, copies its output, and passes SIGTERM on to it. */
const IN_TERMINAL = `
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
try:
    while True:
        os.write(1, os.read(terminal, 65536))
except OSError:
    sys.exit(os.waitpid(pid, 0)[1] >> 8)
`;

/** Starts the service in a terminal, with a gateway that does not answer. */
async function startInTerminal(): Promise<ServiceProcess> {
  const settings = {
    HOST: "127.0.0.1",
    DATABASE_URL: await createDatabase({ template: null }),
    GATEWAY_BASE_URL: "http://127.0.0.1:2",
    GATEWAY_SERVER_KEY: "Mid-server-terminal-tests",
    BUILD: "ee3612b0",
  };
  const command = ["python3", "-c", IN_TERMINAL, ...await mainCommand(settings)];
  return await startService({ settings, command });
}

Deno.test({
  name: "start in a terminal: prints migrations as one line, a summary, and a log without JSON",
  ignore: !hasPython,
  async fn() {
    await using service = await startInTerminal();
    await until("the summary is complete", () => service.output().includes("Press Ctrl-C"));
    await service.get("/me/");
    await until("the request is logged", () => service.output().includes("GET /me/"));
    service.signal("SIGTERM");
    const { code, stdout } = await service.ended;
    assert.equal(code, 0, stdout);
    // What the terminal shows: the text after the last return to the start of each line.
    const written = stdout.split("\r\n").map((line) => line.split("\r\x1b[K"));
    const shown = written.map((line) => line.at(-1)!);
    assert.equal(
      shown.filter((line) => /igration|database/.test(line)).length,
      1,
      shown.join("\n"),
    );
    assert.match(written[0]!.slice(0, -1).join(), /· Applied migration 0001_/);
    assert.match(shown[0]!, /^· Updated the database to \d{4}_\w+/);
    assert.match(
      stdout,
      /^ {2}Payment Gateway Integration Service is running \(\S+, build ee3612b0\)/m,
    );
    assert.match(stdout, /^ {2}Gateway +sandbox, http:\/\/127\.0\.0\.1:2\r$/m);
    assert.match(stdout, /^\d\d:\d\d:\d\d {2}GET \/me\/ {2}401 {2}[\d.]+ ms {2}\w+\r$/m);
    assert.match(stdout, /^\d\d:\d\d:\d\d {2}stopped\r$/m);
    assert.doesNotMatch(stdout, /[{}]|Mid-server/);
  },
});

Deno.test("steps: a terminal shows each on one line that changes, another reader gets lines of JSON", () => {
  const show = (isTerminal: boolean, columns: number) => {
    let text = "";
    const screen = {
      isTerminal: () => isTerminal,
      writeSync: (bytes: Uint8Array) => (text += new TextDecoder().decode(bytes), bytes.length),
    };
    const lines = printed(isTerminal, () => {
      using steps = showSteps(screen, () => columns);
      steps.begin("Creating the database");
      steps.begin("Updating 1");
      steps.update("Updating 2");
    });
    return [text, lines.map((line) => JSON.parse(String(line)).message)];
  };
  const cleared = "\r\x1b[K";
  assert.deepEqual(show(true, 80), [
    `${cleared}· Creating the database\n${cleared}· Updating 1${cleared}· Updating 2\n`,
    [],
  ]);
  // A line that wraps cannot be replaced, so it is written once.
  assert.deepEqual(show(true, 10), ["· Creating the database\n· Updating 1\n", []]);
  assert.deepEqual(show(false, 80), ["", ["Creating the database", "Updating 1", "Updating 2"]]);
});

Deno.test("log in a terminal: shows what each line says, and errors with stack and cause", () => {
  const lines = [
    {
      ...{ time: "2026-11-18T08:09:10.000Z", level: "info", event: "request" },
      ...{ method: "POST", route: "/charge/", status: 201, duration_ms: 12.5, caller: "ana" },
    },
    { time: "2026-11-18T08:09:11.000Z", level: "info", event: "job_ended", name: "sweep", n: 2 },
    {
      ...{ time: "2026-11-18T08:09:12.000Z", level: "error", event: "job_failed", name: "sweep" },
      error: { message: "no", stack: "Error: no\n    at a.ts:1", cause: { message: "refused" } },
    },
  ];
  assert.equal(
    readableLog(lines.map((line) => `${JSON.stringify(line)}\n`).join("")),
    `08:09:10  POST /charge/  201  12.5 ms
08:09:11  job_ended  name=sweep  n=2
08:09:12  error  job_failed  name=sweep
    Error: no
        at a.ts:1
    caused by:
    refused
`,
  );
});

/** The lines that `print` writes to standard error; `isTerminal`: standard error is a terminal. */
function printed(isTerminal: boolean, print: () => void): unknown[] {
  const lines: unknown[] = [];
  const { error } = console;
  const stderr = Deno.stderr as { isTerminal?: () => boolean };
  console.error = (...args: unknown[]) => void lines.push(...args);
  stderr.isTerminal = () => isTerminal;
  try {
    print();
  } finally {
    console.error = error;
    Reflect.deleteProperty(stderr, "isTerminal");
  }
  return lines;
}

Deno.test("start error: is readable on a terminal, and one line of JSON under a supervisor", () => {
  const failure = new Failure("Two settings are wrong:\n  PORT\n  HOST");
  assert.deepEqual(printed(true, () => printStartError(failure)), [failure.message]);
  const [line, ...more] = printed(false, () => printStartError(failure));
  assert.deepEqual(more, []);
  const { time, ...fields } = JSON.parse(String(line));
  assert.ok(Date.parse(time) > 0);
  const expected = { level: "error", event: "start_failed", message: failure.message };
  assert.deepEqual(fields, expected);
});

Deno.test("start error: includes the stack if the error is unexpected", () => {
  const unexpected = new TypeError("x is not a function");
  assert.deepEqual(printed(true, () => printStartError(unexpected)), [unexpected]);
  const [line, ...more] = printed(false, () => printStartError(unexpected));
  assert.deepEqual(more, []);
  assert.doesNotMatch(String(line), /\n/);
  const { level, event, error } = JSON.parse(String(line));
  assert.deepEqual([level, event, error.name, error.message], [
    ...["error", "start_failed", "TypeError", "x is not a function"],
  ]);
  assert.match(error.stack, /terminal_test/);
});
