/** `/gopay/link/{id}`: the customer links a GoPay wallet to the merchant. */

import type { Hono } from "hono";
import { html } from "hono/html";
import { activateAccount } from "../../accounts/accounts.ts";
import { OTP } from "../../cards/authorization.ts";
import { Refusal } from "../../http/refusal.ts";
import type { PayAccount } from "../../world/records.ts";
import type { OpenWorld } from "../../world/world.ts";
import { formatRupiah, formatTime } from "../shared/format.ts";
import { type Markup, readField, render, safeUrl, sameOriginForm } from "../shared/layout.ts";
import { codeField, screen } from "./screens.ts";

const TITLES: Record<PayAccount["status"], string> = {
  PENDING: "Link this wallet to the merchant?",
  ENABLED: "Wallet linked",
  DISABLED: "Wallet unlinked",
  EXPIRED: "This activation link has expired",
};

export function addLinkAccount(pages: Hono, world: OpenWorld): void {
  const find = (id: string): PayAccount => {
    const account = world.accounts.get(id);
    if (!account) throw new Refusal(404);
    return account;
  };

  pages.get("/gopay/link/:id", (c) => {
    const account = find(c.req.param("id"));
    const isPinWrong = c.req.query("wrong") !== undefined;
    return render(c, {
      title: "GoPay",
      body: screen({
        brand: "GoPay",
        title: TITLES[account.status],
        facts: [
          ["Phone", account.phone],
          ["Balance", formatRupiah(account.balance)],
          ...account.status === "PENDING"
            ? [["Link before", formatTime(account.expiresAt)] as [string, string]]
            : [],
        ],
        body: account.status === "PENDING" ? pinForm(isPinWrong) : backLink(account),
      }),
    });
  });

  pages.post("/gopay/link/:id", sameOriginForm(world), async (c) => {
    const account = find(c.req.param("id"));
    if (account.status === "PENDING") {
      if (await readField(c, "pin") !== OTP) return c.redirect(`${c.req.path}?wrong`, 303);
      activateAccount(world, account.id);
      await world.committed();
    }
    return c.redirect(c.req.path, 303);
  });
}

function pinForm(isPinWrong: boolean): Markup {
  return html`
    <form method="post">
      ${codeField("pin", "PIN", OTP, isPinWrong)}
      <button class="primary">Link wallet</button>
    </form>
  `;
}

function backLink({ redirectUrl }: PayAccount): Markup {
  const back = safeUrl(redirectUrl);
  return html`
    <div class="ways">
      ${back && html`<a class="button primary" href="${back.href}">Back to the merchant</a>`}
      <a class="button" href="/">All transactions</a>
    </div>
  `;
}
