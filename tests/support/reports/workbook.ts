/** Reads an Excel file with another library than the one that writes it. */

import { SHEETJS } from "../tools.ts";

/** The part of a cell that tests look at. */
export interface SheetCell {
  /** `s`: text, `n`: number or date, `b`: boolean. */
  t: string;
  v: unknown;
  /** As Excel shows it. */
  w?: string;
  /** The formula, if there is one. */
  f?: string;
}

export interface Sheet {
  name: string;
  rows: (SheetCell | undefined)[][];
}

interface Library {
  read(bytes: Uint8Array, options: { dense: true; cellFormula: true }): {
    SheetNames: string[];
    Sheets: Record<string, (SheetCell | undefined)[][]>;
  };
}

export async function readWorkbook(bytes: Uint8Array): Promise<Sheet[]> {
  const { default: library }: { default: Library } = await import(SHEETJS);
  const { SheetNames, Sheets } = library.read(bytes, { dense: true, cellFormula: true });
  return SheetNames.map((name) => ({ name, rows: [...Sheets[name]!] }));
}

/** The text of each cell as Excel shows it. */
export function shownText({ rows }: Sheet): (string | null)[][] {
  return rows.map((row) => Array.from(row, (cell) => cell?.w ?? (cell && String(cell.v)) ?? null));
}
