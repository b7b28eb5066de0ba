/** `Prefer: respond-async` (RFC 7240): the service responds with a job and does the work later. */

import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { RequestResult } from "../../core/idempotency/keys.ts";
import type { JobView } from "../../core/jobs/read.ts";
import type { Examples } from "../../core/fields/response.ts";
import { unsentExample } from "../../openapi/components.ts";
import { JobSchema } from "./schema.ts";
import { IdempotencyHeaders, REPLAY_HEADER, replayHeader } from "../../http/idempotency.ts";
import { basePathOf, locationHeader } from "../../http/paths.ts";
import type { AppEnv } from "../../http/router.ts";

const RESPOND_ASYNC = "respond-async";

/** Headers of requests that support `Prefer: respond-async`. */
export const AsyncHeaders = IdempotencyHeaders.extend({
  "Prefer": z.string().optional().openapi({
    description: `\`${RESPOND_ASYNC}\` (RFC 7240): return 202 with a job as soon as the input is ` +
      "validated, instead of waiting for the gateway. The job runs the request with its " +
      "`Idempotency-Key`, and its `result` contains the same data as the synchronous response. " +
      "Other preferences are ignored.",
    param: { examples: unsentExample(RESPOND_ASYNC) },
  }),
});

export function asyncResponse(examples: Examples<z.output<typeof JobSchema>>) {
  return {
    202: {
      description: `With \`Prefer: ${RESPOND_ASYNC}\`: the job that runs the request. Poll ` +
        "`Location` until its status is `succeeded` or `failed`.",
      headers: {
        "Preference-Applied": {
          description: "The preference that was applied.",
          required: true,
          schema: { type: "string", const: RESPOND_ASYNC } as const,
          example: RESPOND_ASYNC,
        },
        ...locationHeader("job", "/jobs/"),
        ...REPLAY_HEADER,
      },
      content: { "application/json": { schema: JobSchema, examples } },
    },
  };
}

/**
 * `Prefer` is a list of preferences, case-insensitive. Each may have a value, which may be quoted,
 * and parameters.
 */
export function prefersAsync({ Prefer }: z.output<typeof AsyncHeaders>): boolean {
  if (Prefer === undefined) return false;
  const preferences = Prefer.replace(/"(?:[^"\\]|\\.)*"/g, '""').split(",");
  return preferences.some((each) => /^\s*respond-async\s*(=\s*(""\s*)?)?(;|$)/i.test(each));
}

/** The 202 response. `routingPath`: the path of the current route, to find the base path. */
export function accepted(
  c: Context<AppEnv>,
  routingPath: string,
  { body, isReplayed }: RequestResult<JobView>,
) {
  const headers = {
    "Preference-Applied": RESPOND_ASYNC,
    Location: `${basePathOf(c, routingPath)}/jobs/${body.id}/`,
    ...replayHeader(isReplayed),
  };
  return c.json(body, 202, headers);
}
