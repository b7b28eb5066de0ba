/**
 * Adds lines to the form of an invoice without loading the page, and shows the total while it is
 * entered. Without this script, the service does both when a button is pressed.
 */

const form = document.getElementById("invoice");
const total = document.getElementById("total");

/** As the service reads amounts: `75000`, `75.000`, `Rp 75.000`, and `-10.000` for a discount. */
const AMOUNT =
  /^(?:(?:rp|idr)\.?)?\s*([-−]?)\s*(?:(?:rp|idr)\.?\s*)?(\d{1,13}|\d{1,3}(?:\.\d{3}){1,4})(?:,(?:00|-{1,2}))?$/i;

form.addEventListener("input", showTotal);
form.addEventListener("submit", (event) => {
  const step = event.submitter?.value;
  if (step !== "more" && step !== "discount") return;
  event.preventDefault();
  // Otherwise the form would count as sent, and could not be sent for some seconds.
  event.stopPropagation();
  const { line, discount, discountLine } = form.dataset;
  if (step === "discount") addLine(discountLine, [discount, "-", "1", "yes"]);
  else addLine(line, ["", "", "1", ""]);
});
// A browser can restore what was entered.
showTotal();

function readAmount(text) {
  const [, sign, digits = "0"] = AMOUNT.exec(text.trim()) ?? [];
  const amount = BigInt(digits.replaceAll(".", ""));
  return sign ? -amount : amount;
}

function showTotal() {
  let sum = 0n;
  for (const line of form.querySelectorAll("fieldset.line")) {
    const [, price, quantity, discount] = line.querySelectorAll("input");
    if (/^\d{1,15}$/.test(quantity.value.trim())) {
      const each = readAmount(price.value);
      const isSubtracted = discount.value === "yes" && each > 0n;
      sum += (isSubtracted ? -each : each) * BigInt(quantity.value.trim());
    }
  }
  const digits = String(sum < 0n ? -sum : sum).replaceAll(/\B(?=(\d{3})+$)/g, ".");
  total.textContent = `${sum < 0n ? "−" : ""}Rp ${digits}`;
}

function addLine(name, values) {
  const lines = form.querySelectorAll("fieldset.line");
  const last = lines[lines.length - 1];
  const line = last.cloneNode(true);
  line.querySelector("legend").textContent = name.replace(/\d+/, lines.length + 1);
  for (const error of line.querySelectorAll(".field-error")) error.remove();
  line.querySelectorAll("input").forEach((input, index) => {
    const id = input.id.replace(/\d+/, lines.length);
    const label = line.querySelectorAll("label")[index];
    // The mark of a discount is hidden and has none.
    if (label) label.htmlFor = id;
    Object.assign(input, { id, name: id, value: values[index] });
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  });
  last.after(line);
  if (lines.length + 1 >= Number(form.dataset.maxLines)) {
    for (const button of form.querySelectorAll("button[formnovalidate]")) button.remove();
  }
  // The first field that is not complete.
  line.querySelectorAll("input")[values[0] === "" ? 0 : 1].focus();
  showTotal();
}
