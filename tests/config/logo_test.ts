import assert from "node:assert/strict";
import { join } from "node:path";
import { parseConfig } from "../../core/config/config.ts";
import { readLogo } from "../../core/config/logo.ts";
import { ConfigError } from "../../core/config/problems.ts";
import { createDataFolder } from "../support/project.ts";

/** Reads a logo file with this content. */
async function readLogoOf(content: Uint8Array | string, env: Record<string, string> = {}) {
  await using folder = await createDataFolder();
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  // The name says nothing about the kind.
  await Deno.writeFile(join(folder.path, "logo.txt"), bytes);
  return await readLogo(parseConfig({ ...env, MERCHANT_LOGO: "logo.txt" }, folder.path));
}

const NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"';

Deno.test("MERCHANT_LOGO: finds the kind of the image by its content", async () => {
  assert.equal(await readLogo(parseConfig({}, "/project")), null);
  const images: [type: string, content: Uint8Array | string][] = [
    ["image/png", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0)],
    ["image/jpeg", Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 0)],
    ["image/webp", "RIFF\n\0\0\0WEBPVP8 "],
    ["image/svg+xml", `<svg ${NAMESPACE}/>`],
    [
      "image/svg+xml",
      `\ufeff<?xml version="1.0"?>\n<!-- a > b --><!DOCTYPE svg [<!ENTITY a "b">]>\n<svg ${NAMESPACE}/>`,
    ],
  ];
  for (const [type, content] of images) {
    const logo = await readLogoOf(content);
    assert.equal(logo?.type, type);
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    assert.deepEqual(logo?.bytes, new Uint8Array(bytes));
  }
});

Deno.test("MERCHANT_LOGO: rejects other files, and says what to do", async () => {
  const notAnImage = /One setting is wrong:\n {2}MERCHANT_LOGO {2}names a file that is not a PNG, /;
  const others = [
    "",
    "GIF89a",
    `image: <svg ${NAMESPACE}/>`,
    "<html><svg/></html>",
    `<!-- ${NAMESPACE} --><html/>`,
    "<svg/>",
    Uint8Array.of(0x3c, 0xff),
  ];
  for (const content of others) {
    await assert.rejects(readLogoOf(content), notAnImage, String(content));
  }
  const svg = `<svg ${NAMESPACE}></svg>`;
  assert.equal((await readLogoOf(svg.padEnd(100_000)))?.bytes.length, 100_000);
  await assert.rejects(readLogoOf(svg.padEnd(100_001)), /more than 100 kB; make the image smaller/);
  for (const MERCHANT_LOGO of ["missing.svg", "."]) {
    await using folder = await createDataFolder();
    const config = parseConfig({ MERCHANT_LOGO }, folder.path);
    await assert.rejects(readLogo(config), /does not exist or cannot be read; a relative path/);
  }
});

Deno.test("MERCHANT_LOGO: on Deno Deploy, a wrong file is reported by the running service", async () => {
  const env = {
    DENO_DEPLOY: "1",
    DATABASE_URL: "postgres://host/db",
    GATEWAY_SERVER_KEY: "Mid-server-x",
  };
  await assert.rejects(readLogoOf("x", env), (error) => {
    assert.ok(error instanceof ConfigError);
    return error.isDenoDeploy;
  });
});
