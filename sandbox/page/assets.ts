/** The pages' styles, scripts and icon, kept in the program: the service reads no files. */

import type { Hono } from "hono";
import base from "./assets/base.css" with { type: "text" };
import clock from "./assets/clock.js" with { type: "text" };
import details from "./assets/details.js" with { type: "text" };
import dom from "./assets/dom.js" with { type: "text" };
import list from "./assets/list.css" with { type: "text" };
import narrow from "./assets/narrow.css" with { type: "text" };
import press from "./assets/press.js" with { type: "text" };
import refresh from "./assets/refresh.js" with { type: "text" };
import sandbox from "./assets/sandbox.js" with { type: "text" };
import screens from "./assets/screens.css" with { type: "text" };

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
  <rect width="32" height="32" rx="8" fill="#0f766e"/>
  <rect x="6" y="9" width="20" height="14" rx="3" fill="none" stroke="#fff" stroke-width="2.5"/>
  <path d="M6 15h20" stroke="#fff" stroke-width="2.5"/>
</svg>`;

export function serveAssets(pages: Hono): void {
  const serve = (path: string, type: string, text: string) =>
    pages.get(path, (c) =>
      c.body(text, 200, {
        "Content-Type": `${type}; charset=utf-8`,
        "Cache-Control": "no-cache",
        "X-Content-Type-Options": "nosniff",
      }));
  const scripts = { clock, details, dom, press, refresh, sandbox };
  for (const [name, text] of Object.entries(scripts)) {
    serve(`/assets/${name}.js`, "text/javascript", text);
  }
  serve("/assets/sandbox.css", "text/css", base + list + screens + narrow);
  serve("/favicon.ico", "image/svg+xml", ICON);
}
