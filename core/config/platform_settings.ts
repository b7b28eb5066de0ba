/** The settings that say which build runs, and on which platform. */

import { z } from "zod";
import { matching, meansDenoDeploy } from "./parsers.ts";
import { setting, textSetting } from "./setting.ts";

export const PLATFORM_SETTINGS = {
  BUILD: setting(
    {
      description:
        "Id of the running build, such as a commit, for `GET /status/`, the metrics and the log",
      default: "`DENO_DEPLOY_BUILD_ID`; in a Git checkout, its commit; else none",
      example: "ee3612b0",
    },
    "must be 1 to 100 letters, digits and . _ - +",
    matching(/^[\w.+-]{1,100}$/),
  ),
  DENO_DEPLOY_BUILD_ID: textSetting({
    description: "Id of the revision; set by the platform Deno Deploy",
    default: "none",
    example: "k3v9x2m1",
  }),
  // Not `booleanSetting`: the platform sets it, and its documentation shows both `1` and `true`.
  DENO_DEPLOY: z.string().transform(meansDenoDeploy).optional().meta({
    description:
      "Set by the platform Deno Deploy; do not set it yourself. Unless it is empty, `0` or " +
      "`false`, the service [follows the rules of that platform](production.md#on-deno-deploy)",
    default: "empty",
    example: "1",
  }),
};
