/** Sends each of many bodies once with `wrk`, which has less overhead than a client in Deno. */

import { join } from "node:path";

export interface Bodies {
  url: string;
  bodies: string[];
  connections: number;
}

/**
 * The first request of a connection must be small (see `connectWarm` in `notifications.ts`). `wrk`
 * does not say which connection a request is for, so the script starts with 20 small requests per
 * connection. When all bodies are sent, it sends small requests until every body has its response,
 * because `wrk` does not stop before its time is over.
 */
const SCRIPT = `
local ffi = require("ffi")
ffi.cdef("typedef struct { long s; long ns; } Time; int clock_gettime(int, Time *);")
local function now()
  local time = ffi.new("Time")
  ffi.C.clock_gettime(1, time)
  return tonumber(time.s) + tonumber(time.ns) / 1e9
end
local bodies, small, first, sent, received, failed, began = {}, "", 0, 0, 0, 0, 0
function init(args)
  first = 20 * tonumber(args[2])
  small = wrk.format("GET", "/health/live/")
  for line in io.lines(args[1]) do
    bodies[#bodies + 1] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, line)
  end
end
function request()
  sent = sent + 1
  if sent == first + 1 then began = now() end
  return bodies[sent - first] or small
end
function response(status, headers, body)
  if string.find(body, "live", 1, true) then return end
  if status ~= 200 then failed = failed + 1 end
  received = received + 1
  if received < #bodies then return end
  io.write(string.format("RESULT %f %d\\n", now() - began, failed))
  io.flush()
end
`;

/** A run that takes longer fails. */
const MAX_SECONDS = 60;

export async function isWrkInstalled(): Promise<boolean> {
  const { success } = await new Deno.Command("which", { args: ["wrk"], stdout: "null" }).output();
  return success;
}

/** Requests per second. Throws if a response is not a success. */
export async function sendByWrk({ url, bodies, connections }: Bodies): Promise<number> {
  const folder = await Deno.makeTempDir();
  try {
    const [script, lines] = [join(folder, "script.lua"), join(folder, "bodies")];
    await Deno.writeTextFile(script, SCRIPT);
    await Deno.writeTextFile(lines, bodies.join("\n"));
    const process = new Deno.Command("wrk", {
      args: [
        ...["-t1", `-c${connections}`, `-d${MAX_SECONDS}s`, "-s", script, url],
        ...["--", lines, String(connections)],
      ],
      stdout: "piped",
    }).spawn();
    let output = "";
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
      output += text;
      if (/^RESULT .*\n/m.test(output)) break;
    }
    process.kill();
    await process.status;
    const [, seconds, failed] = output.match(/^RESULT ([\d.]+) (\d+)$/m) ?? [];
    if (failed !== "0") throw new Error(`wrk: ${output}`);
    return bodies.length / Number(seconds);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
