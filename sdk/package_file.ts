/** What npm has to know of the client. */

export function packageFile(version: string): string {
  const description = {
    name: "payment-gateway-client",
    version,
    description: "Client of the Payment Gateway Integration Service: payments, invoices, " +
      "subscriptions, events and webhooks, typed",
    keywords: ["payments", "midtrans", "indonesia", "client", "webhooks"],
    license: "MIT",
    type: "module",
    main: "./lib/mod.js",
    types: "./lib/mod.d.ts",
    exports: {
      ".": { types: "./lib/mod.d.ts", default: "./lib/mod.js" },
      "./package.json": "./package.json",
    },
    files: ["lib"],
    sideEffects: false,
    engines: { node: ">=20.3" },
  };
  return JSON.stringify(description, null, 2) + "\n";
}
