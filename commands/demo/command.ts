/** `deno task demo`: fills the embedded default with a year of payments, and ends. */

import type { Config } from "../../core/config/config.ts";
import { serve } from "../serve.ts";
import { Failure } from "../terminal.ts";
import { REFUSAL } from "./demo.ts";

export async function run(readConfig: () => Config): Promise<void> {
  if (!readConfig().isEmbeddedDefault) throw new Failure(REFUSAL);
  await serve(readConfig, { onlyDemo: true });
}
