/**
 * A Snap page: fills in test cards, groups the digits of a card number, and reports the result to
 * the merchant's page or returns to the merchant.
 */

const field = (name) => document.getElementById(name);

for (const button of document.querySelectorAll("[data-fill]")) {
  button.addEventListener("click", () => {
    field("number").value = grouped(button.dataset.fill);
    field("expiry").value = "12/40";
    field("cvv").value = "123";
    field("pay-by-card").focus();
  });
}

field("number")?.addEventListener("input", ({ target }) => {
  // Only at the end of the text: elsewhere the cursor would move.
  if (target.selectionStart === target.value.length) target.value = grouped(target.value);
});

field("expiry")?.addEventListener("input", ({ target, inputType }) => {
  if (inputType?.startsWith("delete")) return;
  if (/^\d\d$/.test(target.value)) target.value += "/";
});

function grouped(number) {
  return number.replaceAll(/\D/g, "").replaceAll(/(.{4})(?=.)/g, "$1 ");
}

// A payment must not be sent twice.
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", () => form.setAttribute("aria-busy", "true"));
}
// The browser may show the page again as it was when the customer left it.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form")) form.removeAttribute("aria-busy");
});

const ended = field("snap-ended");
if (ended) {
  const { message, returnUrl } = JSON.parse(ended.dataset.ended);
  // The sandbox does not know the origin of the merchant's page, so it allows every origin.
  if (globalThis.parent !== globalThis) globalThis.parent.postMessage(message, "*");
  else if (returnUrl) location.replace(returnUrl);
}
