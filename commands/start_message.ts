/**
 * The start message of the embedded default, which is a service without `DATABASE_URL` and
 * `GATEWAY_SERVER_KEY`.
 */

import { VERSION } from "../openapi/document.ts";
import type { DevelopmentKeys } from "./development_keys.ts";

export interface StartMessage {
  url: string;
  /** The page of a checkout. */
  demo: string;
  sandbox: string | null;
  keys: DevelopmentKeys;
  build: string | null;
}

export function printStartMessage({ url, demo, sandbox, keys, build }: StartMessage): void {
  const lines = [
    "",
    "  %cPayment Gateway Integration Service%c is running",
    "",
    `  API         %c${url}/%c`,
    `  Reference   %c${url}/reference%c`,
    `  Console     %c${url}/console/%c   for staff`,
    `  OpenAPI     %c${url}/openapi.json%c`,
    ...sandbox ? [`  Sandbox     %c${sandbox}/%c   emulated gateway, no real money`] : [],
    "",
    "  Pay as a customer: open this demo checkout, and choose a method",
    `  %c${demo}%c`,
    "",
    `  Version     ${VERSION}${build === null ? "" : `, build ${build}`}`,
    "",
    "  Development keys (valid on this machine only)",
    `  user        ${keys.user}`,
    `  staff       ${keys.staff}`,
    "",
    "  Press Ctrl-C to stop.",
    "",
    "  Create a payment",
    `  %ccurl ${url}/charge/ -H 'Authorization: Bearer ${keys.user}' -H 'Content-Type: application/json' \\`,
    `    -d '{ "payment_type": "bank_transfer", "bank": "bca", "gross_amount": 44000 }'%c`,
    "",
    "  Read the payment",
    // The quotes keep a shell such as zsh from expanding the question mark.
    `  %ccurl '${url}/payments/?limit=1' -H 'Authorization: Bearer ${keys.user}'%c`,
    "",
  ];
  const links = sandbox ? 6 : 5;
  const styles = ["bold", ...Array(links).fill("cyan"), "green", "green"].flatMap((style) => [
    style === "bold" ? "font-weight: bold" : `color: ${style}`,
    "",
  ]);
  console.log(lines.join("\n"), ...styles);
}
