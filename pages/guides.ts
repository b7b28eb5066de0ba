/** The guides of `docs/` as web pages, with this service's address in their commands. */

import type { MarkedExtension, Tokens } from "marked";
import { dirname, join } from "node:path/posix";
import { escapeHtml } from "./page.ts";

/**
 * The guides, by path in `docs/`. Imported as modules, so that the service needs no permission to
 * read files, and on demand, because most instances never show a guide.
 */
const GUIDES: Record<string, () => Promise<{ default: string }>> = {
  "README.md": () => import("../docs/README.md", { with: { type: "text" } }),
  "cards.md": () => import("../docs/cards.md", { with: { type: "text" } }),
  "checkout.md": () => import("../docs/checkout.md", { with: { type: "text" } }),
  "clients.md": () => import("../docs/clients.md", { with: { type: "text" } }),
  "console.md": () => import("../docs/console.md", { with: { type: "text" } }),
  "failover.md": () => import("../docs/failover.md", { with: { type: "text" } }),
  "figures.md": () => import("../docs/figures.md", { with: { type: "text" } }),
  "finding-out-what-happened.md": () =>
    import("../docs/finding-out-what-happened.md", { with: { type: "text" } }),
  "finding-payments.md": () => import("../docs/finding-payments.md", { with: { type: "text" } }),
  "first-payments.md": () => import("../docs/first-payments.md", { with: { type: "text" } }),
  "gateway.md": () => import("../docs/gateway.md", { with: { type: "text" } }),
  "how-it-works.md": () => import("../docs/how-it-works.md", { with: { type: "text" } }),
  "idempotency.md": () => import("../docs/idempotency.md", { with: { type: "text" } }),
  "invoices.md": () => import("../docs/invoices.md", { with: { type: "text" } }),
  "monitoring.md": () => import("../docs/monitoring.md", { with: { type: "text" } }),
  "moving-from-django-payment-midtrans.md": () =>
    import("../docs/moving-from-django-payment-midtrans.md", { with: { type: "text" } }),
  "production.md": () => import("../docs/production.md", { with: { type: "text" } }),
  "proofs.md": () => import("../docs/proofs.md", { with: { type: "text" } }),
  "receiving-events.md": () => import("../docs/receiving-events.md", { with: { type: "text" } }),
  "reports.md": () => import("../docs/reports.md", { with: { type: "text" } }),
  "restoring.md": () => import("../docs/restoring.md", { with: { type: "text" } }),
  "sandbox.md": () => import("../docs/sandbox.md", { with: { type: "text" } }),
  "security.md": () => import("../docs/security.md", { with: { type: "text" } }),
  "settings.md": () => import("../docs/settings.md", { with: { type: "text" } }),
  "subscriptions.md": () => import("../docs/subscriptions.md", { with: { type: "text" } }),
  "decisions/README.md": () => import("../docs/decisions/README.md", { with: { type: "text" } }),
  "decisions/batched-statements.md": () =>
    import("../docs/decisions/batched-statements.md", { with: { type: "text" } }),
  "decisions/embedded-postgresql.md": () =>
    import("../docs/decisions/embedded-postgresql.md", { with: { type: "text" } }),
  "decisions/event-positions.md": () =>
    import("../docs/decisions/event-positions.md", { with: { type: "text" } }),
  "decisions/excel-files.md": () =>
    import("../docs/decisions/excel-files.md", { with: { type: "text" } }),
  "decisions/idempotency-keys-with-leases.md": () =>
    import("../docs/decisions/idempotency-keys-with-leases.md", { with: { type: "text" } }),
  "decisions/jobs-as-rows.md": () =>
    import("../docs/decisions/jobs-as-rows.md", { with: { type: "text" } }),
  "decisions/money-as-integers.md": () =>
    import("../docs/decisions/money-as-integers.md", { with: { type: "text" } }),
  "decisions/order-ids-in-a-table.md": () =>
    import("../docs/decisions/order-ids-in-a-table.md", { with: { type: "text" } }),
  "decisions/payment-filters.md": () =>
    import("../docs/decisions/payment-filters.md", { with: { type: "text" } }),
  "decisions/sandbox-as-a-separate-program.md": () =>
    import("../docs/decisions/sandbox-as-a-separate-program.md", { with: { type: "text" } }),
  "decisions/shared-limits.md": () =>
    import("../docs/decisions/shared-limits.md", { with: { type: "text" } }),
  "decisions/streamed-request-bodies.md": () =>
    import("../docs/decisions/streamed-request-bodies.md", { with: { type: "text" } }),
  "decisions/trailing-slashes.md": () =>
    import("../docs/decisions/trailing-slashes.md", { with: { type: "text" } }),
  "decisions/version-check-instead-of-row-locks.md": () =>
    import("../docs/decisions/version-check-instead-of-row-locks.md", { with: { type: "text" } }),
  "decisions/what-a-notification-may-change.md": () =>
    import("../docs/decisions/what-a-notification-may-change.md", { with: { type: "text" } }),
};

/** The pictures of the guides, by path in `docs/`. */
export const PICTURES: Record<string, () => Promise<{ default: Uint8Array<ArrayBuffer> }>> = {
  "pictures/console-event.png": () =>
    import("../docs/pictures/console-event.png", { with: { type: "bytes" } }),
  "pictures/console-overview.png": () =>
    import("../docs/pictures/console-overview.png", { with: { type: "bytes" } }),
  "pictures/console-payment.png": () =>
    import("../docs/pictures/console-payment.png", { with: { type: "bytes" } }),
};

export interface Guide {
  title: string;
  html: string;
}

/** The addresses that replace those of the embedded default in the guides. */
export interface Addresses {
  service: string;
  sandbox: string | null;
}

/** Paths of all guides below `/guides/`, such as `cards`; the overview has the empty path. */
export const GUIDE_PATHS = Object.keys(GUIDES).map(pathOf);

const DEFAULT_SERVICE = "http://127.0.0.1:8000";
const DEFAULT_SANDBOX = "http://127.0.0.1:8001";

const rendered = new Map<string, Promise<Guide>>();

/** The guide at a path, or null if there is none. `home` is the path of the overview. */
export async function renderGuide(
  path: string,
  home: string,
  { service, sandbox }: Addresses,
): Promise<Guide | null> {
  const file = Object.keys(GUIDES).find((each) => pathOf(each) === path);
  if (file === undefined) return null;
  // Rendered once. Only the addresses differ between requests.
  const known = rendered.get(file) ?? render(file, home);
  rendered.set(file, known);
  const { title, html } = await known;
  const addressed = html.replaceAll(DEFAULT_SERVICE, escapeHtml(service));
  return {
    title,
    html: sandbox ? addressed.replaceAll(DEFAULT_SANDBOX, escapeHtml(sandbox)) : addressed,
  };
}

/** `cards.md` → `cards`, `decisions/README.md` → `decisions`, `README.md` → the empty path. */
function pathOf(file: string): string {
  return file.replace(/(^|\/)README\.md$/, "").replace(/\.md$/, "");
}

async function render(file: string, home: string): Promise<Guide> {
  const { Marked } = await import("marked");
  const { default: markdown } = await GUIDES[file]!();
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? "Guides";
  const html = await new Marked(extension(file, home)).parse(markdown);
  return { title, html };
}

function extension(file: string, home: string): MarkedExtension {
  return {
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const content = this.parser.parseInline(tokens);
        return `<h${depth} id="${anchorOf(text)}">${content}</h${depth}>\n`;
      },
      code({ text, lang = "" }: Tokens.Code) {
        // The words after the language are for the test that runs the guides.
        const [language = "", use] = lang.split(" ");
        const label = use === "output" ? "Response" : language;
        return `<figure class="code"><figcaption>${escapeHtml(label)}</figcaption>` +
          `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre></figure>\n`;
      },
      table(token: Tokens.Table) {
        const cells = (row: Tokens.TableCell[], name: string) =>
          row.map(({ tokens }) => `<${name}>${this.parser.parseInline(tokens)}</${name}>`).join("");
        const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        return `<div class="table" tabindex="0"><table><thead><tr>${
          cells(token.header, "th")
        }</tr>` +
          `</thead><tbody>${rows}</tbody></table></div>\n`;
      },
      // The boxes of a list of tasks cannot be ticked here, and would have no label.
      checkbox({ checked }: Tokens.Checkbox) {
        return checked ? "☑ " : "☐ ";
      },
      image({ href, text }: Tokens.Image) {
        const path = join(dirname(file), href);
        const alt = escapeHtml(text);
        return path in PICTURES ? `<img src="${escapeHtml(home + path)}" alt="${alt}">` : alt;
      },
      link({ href, tokens }: Tokens.Link) {
        const content = this.parser.parseInline(tokens);
        const target = targetOf(href, file, home);
        return target === null ? content : `<a href="${escapeHtml(target)}">${content}</a>`;
      },
    },
  };
}

/** The address of a link's target; null for files outside `docs/`, which are not served. */
function targetOf(href: string, file: string, home: string): string | null {
  if (/^(https?:|#)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const target = join(dirname(file), path);
  if (!(target in GUIDES)) return null;
  const name = pathOf(target);
  return `${home}${name && `${name}/`}${anchor ? `#${anchor}` : ""}`;
}

/** The anchor of a heading on code hosting sites: the links in the guides use these anchors. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-");
}
