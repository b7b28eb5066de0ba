import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import { startService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** Sends a request over an open connection, and returns the head of its response. */
async function request(connection: Deno.Conn, path: string): Promise<string> {
  await connection.write(new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`));
  const bytes = new Uint8Array(65_536);
  const length = await connection.read(bytes);
  return new TextDecoder().decode(bytes.subarray(0, length ?? 0)).split("\r\n\r\n")[0]!;
}

Deno.test("stop: while the service drains, it closes each connection after a response, so that no proxy uses one that is about to be closed", async () => {
  await using service = await startService({
    settings: {
      HOST: "127.0.0.1",
      DATABASE_URL: await createDatabase(),
      GATEWAY_SERVER_KEY: "Mid-server-drain",
      GATEWAY_BASE_URL: "http://127.0.0.1:2",
      DRAIN_SECONDS: "10",
    },
  });
  const { hostname, port } = new URL(service.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  assert.doesNotMatch(await request(connection, "/health/live/"), /^connection:/im);

  service.signal("SIGTERM");
  await until(
    "the service is not ready",
    async () => (await service.get("/health/ready/")).status === 503,
  );
  assert.match(
    await request(connection, "/health/live/"),
    /^HTTP\/1.1 200 .*^connection: close$/ims,
  );
  assert.equal(await connection.read(new Uint8Array(1)), null);
  assert.equal((await service.ended).code, 0, service.output());
});
