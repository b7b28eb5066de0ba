/**
 * What others made and only tests use. By name, not by an import that is read before it runs:
 * nobody who only starts the service downloads them.
 */

import { CONVERTER, GENERATOR, TYPESCRIPT } from "../../sdk/tools.ts";

export const FAST_CHECK = "npm:fast-check@4.10.2";
export const JSQR = "npm:jsqr@1.4.0";
export const MIDTRANS_CLIENT = "npm:midtrans-client@1.4.3";
export const NEWMAN = "npm:newman@6.2.2";
export const PLAYWRIGHT = "npm:playwright-core@1.65.0";
export const REDOCLY = "npm:@redocly/cli@2.73.0";
export const SPECTRAL = "npm:@stoplight/spectral-core@1.24.1";
export const SPECTRAL_PARSERS = "npm:@stoplight/spectral-parsers@1.0.5";
export const SPECTRAL_RULES = "npm:@stoplight/spectral-rulesets@1.23.1";
export { TYPESCRIPT };

const ALL = [
  ...[CONVERTER, FAST_CHECK, GENERATOR, JSQR, MIDTRANS_CLIENT, NEWMAN, PLAYWRIGHT, REDOCLY],
  ...[SPECTRAL, SPECTRAL_PARSERS, SPECTRAL_RULES, TYPESCRIPT],
];

/**
 * Downloads them where they are missing. While Deno does that it keeps every other process that
 * looks for a package waiting, a service that a test is waiting for included.
 */
export async function download(tell: (line: string) => void): Promise<void> {
  for (const tool of ALL) {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["cache", "-q", "--no-lock", "--no-config", tool],
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).output();
    if (code !== 0) tell(`${tool} is not there; the tests that use it will fail`);
  }
}
