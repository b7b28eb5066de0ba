/**
 * What client and sandbox assume about the gateway: the statements of docs/gateway.md, by heading,
 * with the steps that test each.
 */

import type { StepResult } from "./verify.ts";

interface Assumption {
  text: string;
  /** Matches the names of the steps that test it; null if no step can. */
  steps: RegExp | null;
}

type Entry = [text: string, steps: RegExp | null];

const ASSUMPTIONS: Record<string, Entry[]> = {
  "Keys and hosts": [
    ["A request authenticates with the server key; a wrong key gets 401.", /wrong (server )?key/],
    ["Card tokens need the client key; a wrong one gets 401.", /wrong client key/],
    ["The BIN lookup accepts the client key as well.", null],
    ["Production keys never begin with SB-.", null],
  ],
  "Transport and idempotency": [
    ["A charge with a key that was used returns the first response.", /same key again$/],
    [
      "Only the key is compared: another operation with it returns the first response.",
      /key of a charge/,
    ],
    ["Permata ignores the key.", /^charge permata with the key again/],
    ["Indomaret ignores the key.", null],
    ["A key longer than 46 characters is ignored.", null],
    ["A key is kept for 5 minutes; for subscriptions, 3 minutes.", null],
    ["A response other than a success is not kept.", null],
    ["A second request while the first is running gets 202.", null],
    ["Errors of the proxy in front of the gateway have only `message`.", null],
    ["429 has no Retry-After, and responses have no request id.", null],
  ],
  "Status codes": [
    [
      "The Core API sends 400 and 401 as HTTP status, and 200 for other errors.",
      /^charge with|, unknown order|^status, wrong/,
    ],
    ["An unknown transaction gets 404 with HTTP 200.", /unknown (order|transaction)/],
    ["A wrong card number gets 400 with HTTP 200.", /wrong card number/],
    [
      "Errors of subscriptions have `status_message` and no `status_code`.",
      /^subscription, |subscription without/,
    ],
    [
      "Errors of invoices have `error_messages`.",
      /^invoice, (unk|wr)|invoice with(out| an order)|void invoice again/,
    ],
    ["Errors of the BIN lookup have `errors`; its 401 is plain text.", /^BIN, /],
    ["A payment type that the account does not have gets 402.", /^charge (danamon|bsi|sea|saqu)/],
    ["410 means a blocked wallet.", /blocked/],
    ["A 5xx can follow an operation that was executed.", null],
  ],
  "Status code by state": [
    ["A pending transaction has 201.", /^status (bca|gopay)$/],
    ["A cancelled transaction has 200, an expired one 407.", /^(status after )?(cancel|expire) /],
    ["A captured card has 200, a challenged one 201, a denied one 202.", /^(charge|status) card/],
    ["A denial by the merchant gets 200.", /^deny card/],
    ["Notifications of cancelled and expired transactions have 202.", null],
  ],
  "Conversion of requests": [
    ["Numbers and texts are converted to the type of their field.", /numbers? as/],
    ["A value that cannot be converted gets 413.", /object for a text/],
    ["The id in the path is looked up before the body is validated.", null],
    ["An amount with decimals gets 400; a body of null gets 500.", null],
  ],
  "Unstable types": [
    ["Members have the types that the sandbox sends.", /^(charge|status|refund|create|account)/],
    ["`installment_term` is text in a charge and a number in a status.", null],
  ],
  "Fields and limits": [
    ["The gateway accepts spaces and signs in an order id.", /spaces and signs|encoded/],
    ["The items must have the sum of the amount.", /sum of items/],
    ["A status response does not contain the merchant's metadata.", /status with metadata/],
    ["Akulaku accepts a charge with items and customer.", /^charge akulaku$/],
    ["Kredivo accepts a charge with items, customer and address.", /^charge kredivo$/],
    ["Longer order ids and names are rejected; so are Kredivo charges without an address.", null],
  ],
  "Matching transactions with payments": [
    ["`transaction_time` is the gateway's time of the charge.", null],
    ["A status response has currency, type and amount of the charge.", /^status /],
  ],
  "Response fields": [
    ["Each payment type has its own fields in the response to a charge.", /^charge /],
    ["Each payment type has its own fields in a status response when it is paid.", /, paid$/],
    ["Each payment type has its own fields in notifications.", null],
  ],
  "Expiry": [
    ["Each payment type has its default expiry.", /^charge (?!with)/],
    ["`custom_expiry` sets the expiry; less than 20 seconds gets 400.", /with an expiry/],
    ["The longest expiry of each type, and the shortest of DANA.", null],
    ["An unpaid payment expires at its expiry time.", null],
  ],
  "Cards": [
    ["A card number, its expiry and its CVV give a token.", /^token (of|for)/],
    ["A token is valid for one charge; then it gets 411.", /used token/],
    ["A charge without 3-D Secure returns its result.", /^charge card(?! with)/],
    ["A charge with 3-D Secure is pending and has a `redirect_url`.", /3-D Secure to be paid/],
    ["After 3-D Secure the card is captured.", /3-D Secure, paid/],
    ["At most the authorized amount can be captured, and only once.", /^capture (more|a part|ag)/],
    ["An authorization can be cancelled before the capture.", /^cancel authorization/],
    [
      "A challenge can be approved; after a denial the state is `cancel`.",
      /^(status after )?(app|de)\w+ card/,
    ],
    ["Saved and registered cards can be charged.", /(saved|registered) card|register a/],
    ["Points are read as the sandbox sends them.", /^points/],
    ["The BIN lookup returns the members that the sandbox sends.", /^BIN$/],
    ["A capture that the bank refuses gets 202, and the state stays `authorize`.", null],
    ["Captures are settled the next day, and an undecided challenge is cancelled.", null],
    ["Which acquirers cancel authorizations and refund directly.", null],
    ["The BIN lookup allows 100 requests a minute.", null],
  ],
  "Snap pages": [
    ["Creating a page returns 201 with a token and an address.", /^open Snap page$/],
    ["Errors have HTTP status codes and `error_messages`.", /^open Snap page without an order id/],
    ["A wrong key gets 401.", /^open Snap page, wrong server key/],
    ["Until a card is confirmed, a status query returns 404.", /^status of an unused Snap page/],
    ["A second page with the same order id replaces the first.", /^open Snap page again|replaced/],
    ["An unused page can be cancelled, once.", /^cancel Snap page( again|, unknown token)?$/],
    ["The order id of a cancelled page can be used again.", /after its cancellation$/],
    ["After a card is confirmed, the order id gets 400.", null],
    ["Each card that a customer tries is a transaction of its own.", null],
    ["The end of a page sends no notification.", null],
    ["An abandoned 3-D Secure expires after 10 to 15 minutes.", null],
  ],
  "Virtual accounts, Mandiri bill, convenience store": [
    ["A charge with a chosen number is accepted.", /chosen number/],
    ["Short numbers are filled with zeros.", null],
    ["Permata returns `permata_va_number`, for both forms of the charge.", /charge permata/],
    ["All payments to a virtual account can be listed.", /all payments to a virtual/],
    ["Numbers that are too long are cut; one in use is replaced.", null],
    ["A virtual account for several payments makes a transaction for each.", null],
    ["A bank or store can reverse a settled payment.", null],
  ],
  "Wallets and QRIS": [
    ["GoPay has its four actions.", /^charge gopay$/],
    ["QRIS has its actions, for both acquirers.", /^charge qris/],
    ["OVO: an unknown phone number gets 404.", /ovo, unknown/],
    ["A linked GoPay account is charged at once, or authorized and captured.", /linked account/],
    ["From 100,000 rupiah, a linked account needs a PIN.", null],
    ["OVO's other test numbers decline, fail or pay.", null],
    ["A wallet returns the customer to `callback_url` with `order_id` and `result`.", null],
    ["A GoPay order that was paid by QR code may be reported as QRIS.", null],
  ],
  "DANA and newer virtual accounts": [
    ["DANA can be charged, queried and cancelled.", / dana$/],
    ["The newer virtual accounts cannot be charged here.", /^charge (danamon|bsi|sea|saqu)/],
    ["A DANA transaction is found only by its transaction id.", null],
    ["The header `transaction-source` is accepted.", /^(status|cancel) dana/],
  ],
  "Order ids": [
    ["The order id of a pending payment gets 406.", /^charge with an order id in use/],
    ["The order id of a paid payment gets 406.", /order id of a paid/],
    ["It can be used again after expiry and cancellation.", /order id of (a cancel|an exp)/],
    ["It can be used again after a denied card.", /order id of a denied/],
    ["A path with the order id addresses the latest transaction.", /latest transaction/],
    ["A 404 can follow shortly after a charge that was created.", null],
  ],
  "Transaction states": [
    [
      "An operation that the state does not allow gets 412.",
      /^(cancel|capture).* again$|without a review|^\w+ a (cancelled|paid|cap)/,
    ],
    ["`failure`, chargebacks and reversals, and how they are reported.", null],
  ],
  "Notifications": [["Notifications arrive at the address in the dashboard.", null]],
  "Signature": [
    ["`signature_key` of a status response fits the formula.", /^status /],
    ["`signature_key` of a notification fits the formula.", null],
    ["Notifications of subscriptions and linked accounts are unsigned.", null],
  ],
  "Fees on top": [["A fee of the customer is in `metadata.extra_info`.", null]],
  "Delivery": [
    ["Notifications are sent again, as often as the response's status says.", null],
    ["A rejected charge causes no notification.", null],
  ],
  "Refunds": [
    ["A part can be refunded, and the rest directly.", /refund (a part|the rest)/],
    ["A refund key that was used gets 406.", /same refund key/],
    ["More than is left gets 414.", /more than is left/],
    ["QRIS can be refunded directly.", /^refund qris/],
    ["ShopeePay can be refunded.", /^refund shopeepay/],
    ["What is not settled cannot be refunded.", /^refund a (pen|cap|cancelled)/],
    ["Virtual accounts cannot be refunded.", /^refund a virt/],
    ["Refunds of settled cards, DANA, OVO, Akulaku and Kredivo.", null],
    ["How long after the payment a refund is possible.", null],
    ["A refund that the bank refuses gets 202, and one that waits for the bank 201.", null],
    ["The bank confirms a refund later, in `bank_confirmed_at`.", null],
  ],
  "Subscriptions": [
    [
      "A subscription can be created, read, changed, disabled, enabled and cancelled.",
      /subscription/,
    ],
    ["How a subscription charges, retries and ends.", null],
    ["An update with a future schedule activates a subscription that has ended.", null],
    ["Names of more than 40 characters and metadata of more than 1 KB are rejected.", null],
  ],
  "Invoices": [
    ["An invoice can be created, read and voided; its order id cannot be used twice.", /invoice/],
    ["An invoice that is paid, overdue or expired.", null],
    ["The longest texts and the largest amounts.", null],
    ["Discounts, tax and shipping change the total.", null],
  ],
  "Linked accounts": [
    ["A new account is pending, with 201.", /^link account$|^account, pending/],
    ["A linked account has 200, and an unlinked one 204.", /^account, linked|^unlink account/],
    [
      "Unlinking a pending account gets 412; an unknown phone number gets 202.",
      /^unlink pen|^link account, unk/,
    ],
    ["A link that is not used expires.", null],
  ],
  "Times": [
    ["Times have the forms that the sandbox sends.", /^(charge|status|create)/],
    ["Times are in WIB.", null],
    ["Cards are settled in the afternoon.", null],
  ],
};

export interface AssumptionResult {
  /** A heading of docs/gateway.md. */
  heading: string;
  text: string;
  result: "agrees" | "differs" | "not_tested";
}

export function allAssumptions(): (Assumption & { heading: string })[] {
  return Object.entries(ASSUMPTIONS).flatMap(([heading, entries]) =>
    entries.map(([text, steps]) => ({ heading, text, steps }))
  );
}

/** An assumption differs if a step differs, and agrees if at least one step was run. */
export function testAssumptions(results: StepResult[]): AssumptionResult[] {
  return allAssumptions().map(({ heading, text, steps }) => {
    const found = new Set(
      results.filter(({ step }) => steps?.test(step)).map(({ result }) => result),
    );
    const result = found.has("differs") ? "differs" : found.has("agrees") ? "agrees" : "not_tested";
    return { heading, text, result };
  });
}
