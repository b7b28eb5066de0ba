import assert from "node:assert/strict";
import { createDatabase, runSql } from "../support/database/database.ts";
import {
  complaints,
  type Installation,
  openInstallation,
  runSchedule,
  untested,
} from "../support/doctor/installation.ts";
import { FORWARD, hasNginx } from "../support/nginx.ts";
import { openLateGateway } from "../support/doctor/late_gateway.ts";

const ignore = !await hasNginx();

/** Fails the test unless the doctor names this fault and nothing else. */
async function assertOnly(installation: Installation, complaint: string): Promise<void> {
  const results = await installation.examine();
  assert.deepEqual(complaints(results), [complaint], JSON.stringify(results, null, 2));
  const [named] = results.filter(({ status }) => status === "fault");
  assert.ok(named?.next, "it has a next step");
  const { code, stdout } = await installation.run();
  assert.equal(code, 1);
  assert.match(stdout, /^Faults: 1\. Warnings: 0\.$/m);
}

Deno.test({
  name: "doctor: a healthy installation behind nginx is ok, except for what cannot be known",
  ignore,
  async fn() {
    await using installation = await openInstallation();
    const results = await installation.examine();
    assert.deepEqual(complaints(results), [], JSON.stringify(results, null, 2));
    assert.deepEqual(untested(results), ["disk"]);
    const { code, stdout, stderr } = await installation.run();
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^Faults: 0\. Warnings: 0\.$/m);
  },
});

Deno.test({
  name: "doctor: names a redirect to https",
  ignore,
  async fn() {
    const server = "location / { return 301 https://$host$request_uri; }";
    await using installation = await openInstallation({ server });
    await assertOnly(installation, "public_url fault redirect");
    assert.deepEqual(untested(await installation.examine()), [
      "notification",
      "body_size",
      "stream",
      "disk",
    ]);
  },
});

Deno.test({
  name: "doctor: names an expired certificate, and accepts a valid one",
  ignore,
  async fn() {
    await using expired = await openInstallation({ certificateDays: -1 });
    const results = await expired.examineInProcess();
    assert.deepEqual(
      complaints(results),
      ["public_url fault certificate"],
      JSON.stringify(results),
    );
    assert.match(results.find(({ finding }) => finding === "certificate")!.found, /expired/i);
    await using valid = await openInstallation({ certificateDays: 10 });
    assert.deepEqual(complaints(await valid.examineInProcess()), []);
  },
});

Deno.test({
  name: "doctor: names a certificate that is not trusted",
  ignore,
  async fn() {
    await using installation = await openInstallation({ certificateDays: 10 });
    await assertOnly(installation, "public_url fault certificate");
  },
});

Deno.test({
  name: "doctor: names a proxy that forwards to a wrong path",
  ignore,
  async fn() {
    const server = `location / { proxy_pass TARGET/elsewhere/; ${FORWARD} }`;
    await using installation = await openInstallation({ server });
    await assertOnly(installation, "public_url fault wrong_path");
  },
});

Deno.test({
  name: "doctor: names a 403 for notifications",
  ignore,
  async fn() {
    const server = `location / { proxy_pass TARGET; ${FORWARD} }
      location /notification/ { return 403; }`;
    await using installation = await openInstallation({ server });
    await assertOnly(installation, "notification fault refused");
  },
});

Deno.test({
  name: "doctor: names a body limit below that of the service",
  ignore,
  async fn() {
    const server = `client_max_body_size 64k; location / { proxy_pass TARGET; ${FORWARD} }`;
    await using installation = await openInstallation({ server });
    await assertOnly(installation, "body_size fault body_limit");
  },
});

Deno.test({
  name: "doctor: names a buffered event stream",
  ignore,
  async fn() {
    // With HTTP/1.0, nginx's default, it collects what is shorter than its buffer.
    const server = `location / { proxy_pass TARGET; proxy_buffering on;
      proxy_ignore_headers X-Accel-Buffering; }`;
    await using installation = await openInstallation({ server });
    await assertOnly(installation, "stream fault stream_buffered");
  },
});

Deno.test({
  name: "doctor: names a server key that the gateway refuses",
  ignore,
  async fn() {
    const settings = { GATEWAY_SERVER_KEY: "SB-Mid-server-wrong" };
    await using installation = await openInstallation({ settings });
    await assertOnly(installation, "gateway fault gateway_key_refused");
  },
});

Deno.test({
  name: "doctor: names a clock that differs from the gateway's by ten minutes",
  ignore,
  async fn() {
    await using gateway = openLateGateway(600_000);
    await using installation = await openInstallation({
      gatewayUrl: (sandbox) => gateway.inFrontOf(sandbox.url),
    });
    await assertOnly(installation, "clock fault clock_database");
    const clock = (await installation.examine()).find(({ check }) => check === "clock")!;
    assert.match(clock.found, /by (59\d|60\d) s/);
  },
});

Deno.test({
  name: "doctor: names a database that is read-only",
  ignore,
  async fn() {
    const databaseUrl = await createDatabase({ isNew: true });
    await using installation = await openInstallation({ databaseUrl });
    const name = new URL(databaseUrl).pathname.slice(1);
    await runSql(databaseUrl, `alter database ${name} set default_transaction_read_only = on`);
    await assertOnly(installation, "writes fault writes_refused");
  },
});

Deno.test({
  name: "doctor: names scheduled tasks that have stopped",
  ignore,
  async fn() {
    await using installation = await openInstallation();
    await runSchedule(installation.app, 120);
    await assertOnly(installation, "crons fault crons_overdue");
  },
});

Deno.test({
  name: "doctor: names headers that the proxy removes",
  ignore,
  async fn() {
    const server = `location / { proxy_pass TARGET; ${FORWARD}
      proxy_set_header Idempotency-Key ""; }`;
    await using installation = await openInstallation({ server });
    await assertOnly(installation, "notification fault headers_lost");
    const server2 = `location / { proxy_pass TARGET; ${FORWARD}
      proxy_set_header Authorization ""; }`;
    await using other = await openInstallation({ server: server2 });
    await assertOnly(other, "stream fault stream_unauthorized");
  },
});

Deno.test({
  name: "doctor: names a proxy that does not reach the service",
  ignore,
  async fn() {
    const server = `location / { proxy_pass http://127.0.0.1:2; ${FORWARD} }`;
    await using installation = await openInstallation({ server });
    await assertOnly(installation, "public_url fault proxy_error");
  },
});
