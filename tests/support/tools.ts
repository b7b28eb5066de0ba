/**
 * The npm packages that only tests use. They are imported by name at run time, so that starting the
 * service does not download them.
 */

import { CONVERTER, GENERATOR, TYPESCRIPT } from "../../sdk/tools.ts";

export const AXE = "npm:axe-core@4.14.0";
export const FAST_CHECK = "npm:fast-check@4.10.2";
export const JSQR = "npm:jsqr@1.4.0";
export const MIDTRANS_CLIENT = "npm:midtrans-client@1.4.3";
export const NEWMAN = "npm:newman@6.2.2";
export const PLAYWRIGHT = "npm:playwright-core@1.65.0";
export const REDOCLY = "npm:@redocly/cli@2.73.0";
/** Reads the Excel files that the service writes. */
export const SHEETJS = "npm:xlsx@0.18.5";
export const SMTP_SERVER = "npm:smtp-server@3.21.1";
export const SPECTRAL = "npm:@stoplight/spectral-core@1.24.1";
export const SPECTRAL_PARSERS = "npm:@stoplight/spectral-parsers@1.0.5";
export const SPECTRAL_RULES = "npm:@stoplight/spectral-rulesets@1.23.1";
export const YAML = "npm:yaml@2.9.1";
export { TYPESCRIPT };

export const TOOLS = [
  ...[AXE, CONVERTER, FAST_CHECK, GENERATOR, JSQR, MIDTRANS_CLIENT, NEWMAN, PLAYWRIGHT, REDOCLY],
  ...[SHEETJS, SMTP_SERVER, SPECTRAL, SPECTRAL_PARSERS, SPECTRAL_RULES, TYPESCRIPT, YAML],
];
