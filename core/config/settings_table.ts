/** The documentation of the settings, as a table. */

import { SETTING_NAMES, settingInfo } from "./settings.ts";

/** The table in docs/settings.md. */
export function settingsTable(): string {
  const rows = SETTING_NAMES.map((name) => {
    const { description, default: value } = settingInfo(name);
    return `| \`${name}\` | ${description} | ${value} |`;
  });
  return ["| Variable | Description | Default |", "| --- | --- | --- |", ...rows].join("\n");
}
