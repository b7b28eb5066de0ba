/** One setting: its documentation, and how its text is parsed. */

import { z } from "zod";
import { trueOrFalse, wholeNumber } from "./parsers.ts";

export interface SettingInfo {
  description: string;
  /** For docs/settings.md. */
  default: string;
  example: string;
}

/** `problem` is the error text if `parse` returns undefined; it must not contain the value. */
export function setting<T>(
  info: SettingInfo,
  problem: string | ((text: string) => string),
  parse: (text: string) => T | undefined,
) {
  return z.string().transform((text, context) => {
    const value = text.trim() === "" ? undefined : parse(text);
    if (value !== undefined) return value;
    const reason = typeof problem === "string" ? problem : problem(text);
    const message = text.trim() === "" ? "is set but empty; give it a value or unset it" : reason;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }).optional().meta({ ...info });
}

export function textSetting(info: SettingInfo) {
  return setting(info, "must be text", String);
}

export function daysSetting(info: SettingInfo) {
  return setting(info, "must be a number of days, 1 to 36500", wholeNumber(1, 36_500));
}

export function booleanSetting(info: SettingInfo) {
  return setting(info, "must be true or false", trueOrFalse);
}
