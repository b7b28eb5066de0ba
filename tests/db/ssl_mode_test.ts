import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { TLSSocket } from "node:tls";
import postgres from "postgres";
import { reachDatabase } from "../../commands/database_access.ts";
import { install } from "../../db/embedded/install.ts";
import type { Layout } from "../../db/embedded/layout.ts";
import { startServer } from "../../db/embedded/server.ts";
import { resolveSslMode } from "../../db/connection/ssl_mode.ts";
import { createDatabase } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from "../support/events/test_certificate.ts";
import { hasProgram } from "../support/programs.ts";
import { createDataFolder } from "../support/project.ts";

/** A server that responds to the request for TLS with this letter. */
function openServer(response: string): { url: string; requests: Uint8Array[] } & AsyncDisposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: Uint8Array[] = [];
  async function accept() {
    for await (const connection of listener) {
      const buffer = new Uint8Array(100);
      requests.push(buffer.slice(0, await connection.read(buffer) ?? 0));
      await connection.write(new TextEncoder().encode(response));
      connection.close();
    }
  }
  const accepting = accept();
  return {
    url: `postgres://127.0.0.1:${listener.addr.port}/db?sslmode=prefer`,
    requests,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
    },
  };
}

const modeOf = (url: string) => new URL(url).searchParams.get("sslmode");

Deno.test("sslmode=prefer: becomes require if the server offers TLS, and disable if it does not", async () => {
  await using withTls = openServer("S");
  await using withoutTls = openServer("N");
  assert.equal(modeOf(await resolveSslMode(withTls.url)), "require");
  assert.equal(modeOf(await resolveSslMode(withoutTls.url)), "disable");
  // The SSLRequest of PostgreSQL's protocol.
  assert.deepEqual([...withTls.requests[0]!], [0, 0, 0, 8, 4, 210, 22, 47]);
});

Deno.test("sslmode=prefer: connects to a server without TLS", async () => {
  const url = await resolveSslMode(`${await createDatabase()}?sslmode=prefer`);
  const sql = postgres(url, { max: 1 });
  try {
    assert.equal((await sql`select 1 as one`)[0]!.one, 1);
  } finally {
    await sql.end();
  }
});

Deno.test({
  name: "sslmode=prefer: uses TLS if the server offers it",
  ignore: !await hasProgram("openssl", "the test of TLS connections is", ["version"]),
  async fn() {
    await using folder = await createDataFolder();
    const layout = await install(folder.path, () => {});
    await createCertificate(layout);
    const settings = ["ssl=on", "ssl_cert_file=tls.crt", "ssl_key_file=tls.key"];
    const server = await startServer(layout, { settings });
    try {
      const url = await resolveSslMode(`${server.url}?sslmode=prefer`);
      const isEncrypted = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
      const sql = postgres(url, { max: 1 });
      assert.equal((await sql.unsafe(isEncrypted))[0]!.ssl, true);
      await sql.end();
    } finally {
      await server.stop();
    }
  },
});

/** Creates a self-signed certificate in the folder of the cluster, for the user of the server. */
async function createCertificate({ cluster, runAs }: Layout): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", {
    args: ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"].concat(
      ["-days", "2", "-keyout", "tls.key", "-out", "tls.crt"],
    ),
    cwd: cluster,
    ...runAs,
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

Deno.test("sslmode=prefer: waits for an unreachable server, and leaves the URL unchanged if the wait is over", async () => {
  const { proxy, url } = throughProxy(`${await createDatabase()}?sslmode=prefer`);
  await using _proxy = proxy;
  proxy.cut();
  assert.equal(await resolveSslMode(url, 0), url);
  const resolving = resolveSslMode(url);
  proxy.restore();
  assert.equal(modeOf(await resolving), "disable");
});

Deno.test("sslmode: a URL with another mode stays unchanged, without a connection to the server", async () => {
  for (const query of ["", "?sslmode=disable", "?sslmode=require", "?sslmode=verify-full"]) {
    const url = `postgres://127.0.0.1:2/db${query}`;
    assert.equal(await resolveSslMode(url), url);
  }
});

Deno.test("sslmode=verify-full: an unknown certificate authority ends the start, and the error names DENO_CERT", async () => {
  const server = createServer((socket) => {
    socket.once("data", () => {
      // Accepts the request for TLS, as PostgreSQL does.
      socket.write("S");
      const certificate = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY };
      new TLSSocket(socket, { isServer: true, ...certificate }).on("error", () => {});
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `postgres://127.0.0.1:${port}/db?sslmode=verify-full`;
  await assert.rejects(
    reachDatabase(url, null),
    /self-signed certificate\. Set DENO_CERT to a file/,
  );
  await new Promise((resolve) => server.close(resolve));
});
