/** A PDF of one page of text, made by hand: objects, their places, and a table of those. */

export interface Line {
  text: string;
  x: number;
  /** From the top, as people count. */
  y: number;
  size?: number;
  isBold?: boolean;
  /** `x` is then where the text ends. */
  isRightAligned?: boolean;
}

/** A4 in points. */
export const PAGE = { width: 595, height: 842 };

export function pdf(title: string, lines: Line[]): Uint8Array<ArrayBuffer> {
  const content = lines.map(draw).join("\n");
  const font = (name: string) =>
    `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Contents 4 0 R ` +
    "/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    // Fixed width: the end of a line can be told without the widths of its letters.
    font("Courier"),
    font("Courier-Bold"),
    `<< /Title (${escape(title)}) >>`,
  ];

  let file = "%PDF-1.4\n";
  const places = objects.map((object, index) => {
    const place = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  const table = file.length;
  const size = objects.length + 1;
  file += `xref\n0 ${size}\n0000000000 65535 f \n${places.join("")}` +
    `trailer\n<< /Size ${size} /Root 1 0 R /Info 7 0 R >>\nstartxref\n${table}\n%%EOF\n`;
  return Uint8Array.from(file, (character) => character.charCodeAt(0));
}

/** Every letter of Courier is this wide, in parts of its size. */
const LETTER = 0.6;

function draw({ text, x, y, size = 10, isBold = false, isRightAligned = false }: Line): string {
  const left = isRightAligned ? x - text.length * size * LETTER : x;
  const font = isBold ? "F2" : "F1";
  return `BT /${font} ${size} Tf ${left.toFixed(2)} ${PAGE.height - y} Td (${escape(text)}) Tj ET`;
}

/** Brackets end a text and backslashes begin a code; letters the font has not become `?`. */
function escape(text: string): string {
  return text.replaceAll(/[^\x20-\x7e\xa0-\xff]/gu, "?").replaceAll(/[\\()]/g, "\\$&");
}
