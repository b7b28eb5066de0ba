import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { TLSSocket } from "node:tls";
import { reachDatabase } from "../../commands/database_access.ts";
import { openDatabase } from "../../db/connection/database.ts";
import { install } from "../../db/embedded/install.ts";
import type { Layout } from "../../db/embedded/layout.ts";
import { startServer } from "../../db/embedded/server.ts";
import { createDatabase } from "../support/database/database.ts";
import { PATIENT_DEADLINE_MS } from "../support/database/pools.ts";
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from "../support/events/test_certificate.ts";
import { hasProgram } from "../support/programs.ts";
import { createDataFolder } from "../support/project.ts";

/** Starts as the service does, and returns whether its connections are encrypted. */
async function isEncrypted(databaseUrl: string): Promise<boolean> {
  const access = await reachDatabase(databaseUrl, null);
  const database = openDatabase({ ...access, poolSize: 1, deadlineMs: PATIENT_DEADLINE_MS });
  try {
    const [row] = await database.query((sql) =>
      sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
    );
    return row!.ssl;
  } finally {
    await database.close();
  }
}

Deno.test("sslmode=prefer: connects to a server without TLS", async () => {
  assert.equal(await isEncrypted(`${await createDatabase()}?sslmode=prefer`), false);
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
      assert.equal(await isEncrypted(`${server.url}?sslmode=prefer`), true);
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
