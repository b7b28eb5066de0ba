/** `Prefer: respond-async` (RFC 7240): what is asked for is done later, and a job tells of it. */

import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Outcome } from "../../core/idempotency/attempt.ts";
import type { JobView } from "../../core/jobs/views.ts";
import { unsent } from "../../openapi/components.ts";
import { type AppEnv, basePathOf } from "./request_context.ts";
import type { Examples } from "./example.ts";
import { IdempotencyHeaders, REPLAY_HEADER, replayHeader } from "./idempotency.ts";
import { JobSchema } from "../schemas/job.ts";
import { locationHeader } from "./location.ts";

const RESPOND_ASYNC = "respond-async";

/** Of requests that can be answered with a job. */
export const AsyncHeaders = IdempotencyHeaders.extend({
  "Prefer": z.string().optional().openapi({
    description: `\`${RESPOND_ASYNC}\` (RFC 7240): do not wait for the gateway, but answer 202 ` +
      "with a job as soon as the input is checked. The job is done as if the request had come " +
      "then, with its `Idempotency-Key`, and holds what this request would have been answered " +
      "with. Other preferences are ignored.",
    param: { examples: unsent(RESPOND_ASYNC) },
  }),
});

export function answeredLater(examples: Examples<z.output<typeof JobSchema>>) {
  return {
    202: {
      description: `With \`Prefer: ${RESPOND_ASYNC}\`: the job that will do it. Read it at ` +
        "`Location` until it is `succeeded` or `failed`.",
      headers: {
        "Preference-Applied": {
          description: "That it was preferred.",
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

/** One of possibly many, in any case; names and values may be quoted, and bear parameters. */
export function prefersAsync({ Prefer }: z.output<typeof AsyncHeaders>): boolean {
  if (Prefer === undefined) return false;
  const preferences = Prefer.replace(/"(?:[^"\\]|\\.)*"/g, '""').split(",");
  return preferences.some((each) => /^\s*respond-async\s*(=\s*(""\s*)?)?(;|$)/i.test(each));
}

/** The answer of the route that was found by this path. */
export function accepted(
  c: Context<AppEnv>,
  routingPath: string,
  { body, isReplayed }: Outcome<JobView>,
) {
  const headers = {
    "Preference-Applied": RESPOND_ASYNC,
    Location: `${basePathOf(c, routingPath)}/jobs/${body.id}/`,
    ...replayHeader(isReplayed),
  };
  return c.json(body, 202, headers);
}
