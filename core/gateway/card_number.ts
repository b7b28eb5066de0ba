/** Finds card numbers among digits. */

const [SHORTEST, LONGEST] = [13, 19];

/** Masks card numbers among groups of digits; a number may have others before and after it. */
export function maskCards(text: string, mask: string): string {
  let clean = "";
  let from = 0;
  for (const { index: start } of text.matchAll(/\d+/g)) {
    // Inside of one that is masked already.
    if (start < from) continue;
    const end = endOfCard(text, start);
    if (end === null) continue;
    clean += text.slice(from, start) + mask;
    from = end;
  }
  return clean + text.slice(from);
}

/** Where the longest card number that begins here ends; like a group, it ends before no digit. */
function endOfCard(text: string, start: number): number | null {
  let digits = "";
  let end: number | null = null;
  for (let at = start; at < text.length && digits.length < LONGEST; at++) {
    if (!isDigit(text[at])) continue;
    digits += text[at];
    const isWhole = digits.length >= SHORTEST && !isDigit(text[at + 1]);
    if (isWhole && passesLuhn(digits)) end = at + 1;
  }
  return end;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const doubled = place % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
