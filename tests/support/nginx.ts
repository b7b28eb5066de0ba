/** A real nginx in front of the service, and certificates for it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { hasProgram } from "./programs.ts";
import { until } from "./until.ts";

/** Debian installs it in a folder that is not in the PATH of ordinary users. */
const PROGRAM = "/usr/sbin/nginx";

/** If nginx is missing, prints that the tests behind a proxy are skipped. */
export function hasNginx(skipped = "the tests of the doctor behind a proxy are"): Promise<boolean> {
  return hasProgram(PROGRAM, skipped, ["-v"]);
}

/** How a healthy proxy forwards, as docs/production.md shows it. */
export const FORWARD = `
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $host;
  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
  proxy_buffering off;`;

export interface NginxOptions {
  port: number;
  /** The content of the server block; `TARGET` is the address of the service. */
  server: string;
  /** The address of the service. */
  target: string;
  /** With TLS. */
  certificate?: Certificate;
}

export async function startNginx(options: NginxOptions): Promise<AsyncDisposable> {
  const { port, target, certificate } = options;
  const http = `
    server { listen 127.0.0.1:${port}${certificate ? " ssl" : ""};
      ${certificate ? `ssl_certificate ${certificate.file};` : ""}
      ${certificate ? `ssl_certificate_key ${certificate.keyFile};` : ""}
      ${options.server.replaceAll("TARGET", target)} }`;
  return await runNginx(http, port);
}

/** Starts nginx with this content of its `http` block, which has a server on this port. */
export async function runNginx(http: string, port: number, workers = 1): Promise<AsyncDisposable> {
  const folder = await Deno.makeTempDir({ prefix: "nginx-" });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`);
  await Deno.writeTextFile(
    join(folder, "nginx.conf"),
    `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
    ${Deno.uid() === 0 ? "user root;" : ""} worker_processes ${workers};
    events {}
    http { access_log off; ${temporary.join(" ")} ${http} }`,
  );
  const process = new Deno.Command(PROGRAM, {
    args: ["-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await until("nginx accepts connections", async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => null);
    connection?.close();
    return connection !== null;
  });
  return {
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

export interface Certificate {
  file: string;
  keyFile: string;
  /** The certificate of the authority that signed it. */
  authority: string;
}

/** A certificate for 127.0.0.1 by an authority of its own. `days` below 0: it has expired. */
export async function createCertificate(folder: string, days: number): Promise<Certificate> {
  const at = (name: string) => join(folder, name);
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await openssl("req", "-x509", ...newKey, "-keyout", at("ca.key"), "-out", at("ca.pem"))(
    ["-days", "3650", "-subj", "/CN=authority of a test"],
  );
  await openssl("req", ...newKey, "-keyout", at("server.key"), "-out", at("server.csr"))(
    ["-subj", "/CN=127.0.0.1"],
  );
  await Deno.writeTextFile(at("extensions"), "subjectAltName=IP:127.0.0.1\n");
  await openssl("x509", "-req", "-in", at("server.csr"), "-out", at("server.pem"))([
    ...["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial"],
    ...["-days", String(days), "-extfile", at("extensions")],
  ]);
  return { file: at("server.pem"), keyFile: at("server.key"), authority: at("ca.pem") };
}

function openssl(...first: string[]) {
  return async (more: string[]) => {
    const { success, stderr } = await new Deno.Command("openssl", { args: [...first, ...more] })
      .output();
    assert.ok(success, new TextDecoder().decode(stderr));
  };
}
