/** The frame of the welcome page and the guides: head, navigation and stylesheet. No script. */

export interface PageOptions {
  title: string;
  /** The prefix of all paths (`BASE_PATH`). */
  basePath: string;
  html: string;
}

export function renderPage({ title, basePath, html }: PageOptions): string {
  const link = (path: string, text: string) =>
    `<a href="${escapeHtml(basePath + path)}">${text}</a>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${escapeHtml(basePath)}/reference/favicon.svg">
<link rel="stylesheet" href="${escapeHtml(basePath)}/guides/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><nav aria-label="Main">
${link("/", "<strong>Payment Gateway</strong>")}
${link("/guides/", "Guides")}
${link("/reference/", "Reference")}
${link("/openapi.json", "OpenAPI")}
</nav></header>
<main id="main">
${html}
</main>
</body>
</html>
`;
}

export const PAGE_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}
