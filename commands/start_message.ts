/** What a newcomer reads when the service is up. */

import type { DevelopmentKeys } from "./development_keys.ts";

export function printStartMessage(
  url: string,
  sandbox: string | null,
  keys: DevelopmentKeys,
): void {
  const lines = [
    "",
    "  %cPayment Gateway Integration Service%c is up",
    "",
    `  API         %c${url}/%c`,
    `  Reference   %c${url}/reference%c`,
    `  Document    %c${url}/openapi.json%c`,
    ...sandbox
      ? [`  Sandbox     %c${sandbox}/%c   the gateway, emulated: no money moves here`]
      : [],
    "",
    "  Development keys, good on this machine only",
    `  user        ${keys.user}`,
    `  staff       ${keys.staff}`,
    "",
    "  A first payment",
    `  %ccurl ${url}/charge/ -H 'Authorization: Bearer ${keys.user}' -H 'Content-Type: application/json' \\`,
    `    -d '{ "payment_type": "bank_transfer", "bank": "bca", "gross_amount": 44000 }'%c`,
    "",
    "  Ctrl-C stops it.",
    "",
  ];
  const links = sandbox ? 4 : 3;
  const styles = ["bold", ...Array(links).fill("cyan"), "green"].flatMap((style) => [
    style === "bold" ? "font-weight: bold" : `color: ${style}`,
    "",
  ]);
  console.log(lines.join("\n"), ...styles);
}
