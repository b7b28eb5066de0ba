/** A program that embeds the service and handles an event. */

import { serve } from "../../../commands/serve.ts";
import { parseConfig } from "../../../core/config/config.ts";
import { createEvents } from "../../../core/handlers/events.ts";

const [mode] = Deno.args;
const events = createEvents();
events.on("payment_received", async ({ name, data }) => {
  console.log(`handling ${name} ${data.id}`);
  if (mode === "hang") await new Promise(() => {});
}, { as: "embedder" });
await serve(() => parseConfig(Deno.env.toObject(), "/nowhere"), { events });
