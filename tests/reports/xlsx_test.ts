import assert from "node:assert/strict";
import type { Cell, Rows } from "../../core/reports/file_format.ts";
import { excelFormat } from "../../core/reports/xlsx.ts";
import { readWorkbook, shownText } from "../support/reports/workbook.ts";

async function write(
  columns: string[],
  pages: Rows[],
  maxSheetRows?: number,
  name = "Payments / all",
) {
  const { write } = excelFormat(name, { maxSheetRows });
  const file = ReadableStream.from(write(columns, ReadableStream.from(pages)));
  return await readWorkbook(new Uint8Array(await new Response(file).arrayBuffer()));
}

Deno.test("excel: another library reads the same text, amounts, times and days", async () => {
  const texts = [
    "812785002530231018",
    "081234567890",
    "+62 812-3456-789",
    '=HYPERLINK("http://evil.example","click")',
    "=1+1",
    "-2+3",
    "@SUM(A1)",
    "'quoted",
    'a < b & c > d "e"',
    "two\nlines\tand a tab",
    " spaces ",
    "_x0041_",
    "Rp 😀 é 中",
    "1e5",
    "TRUE",
  ];
  const rows: Cell[][] = [
    ...texts.map((text): Cell[] => [text, null]),
    ["a\u0000b\ud800c", null],
    ["x".repeat(40_000), null],
    [9_999_999_999_999, 560.5],
    [0, -250_000],
    [new Date("2026-11-16T17:00:00.999Z"), Temporal.PlainDate.from("2026-02-28")],
    [true, false],
  ];
  const [sheet, ...others] = await write(["Text & more", "Other"], [
    rows.slice(0, 3),
    rows.slice(3),
  ]);
  assert.equal(others.length, 0);
  assert.equal(sheet!.name, "Payments   all");
  const [header, ...cells] = sheet!.rows;
  assert.deepEqual(header!.map((cell) => cell!.v), ["Text & more", "Other"]);
  for (const [index, text] of texts.entries()) {
    const { t, v, f } = cells[index]![0]!;
    assert.deepEqual([t, v, f], ["s", text, undefined]);
  }
  const rest = shownText({ name: "", rows: cells.slice(texts.length) });
  assert.deepEqual(rest[0]![0], "a\ufffdb\ufffdc");
  assert.equal(rest[1]![0]!.length, 32_767, "Excel refuses longer cells");
  assert.deepEqual(rest.slice(2), [
    ["9,999,999,999,999", "560.50"],
    ["0", "-250,000"],
    ["2026-11-17 00:00:00", "2026-02-28"],
    ["TRUE", "FALSE"],
  ]);
  assert.deepEqual(cells.at(-4)!.map((cell) => [cell!.t, cell!.v]), [
    ["n", 9_999_999_999_999],
    ["n", 560.5],
  ]);
});

Deno.test("excel: rows beyond the end of a sheet are in the next one, under the same header", async () => {
  const pages = [3, 0, 4, 2].map((count, page) =>
    Array.from({ length: count }, (_, row) => [`${page}-${row}`])
  );
  const sheets = await write(["Order"], pages, 5);
  assert.deepEqual(
    sheets.map((sheet) => [sheet.name, ...shownText(sheet).flat()]),
    [
      ["Payments   all", "Order", "0-0", "0-1", "0-2", "2-0"],
      ["Payments   all 2", "Order", "2-1", "2-2", "2-3", "3-0"],
      ["Payments   all 3", "Order", "3-1"],
    ],
  );
  const full = await write(["Order"], [[["1"], ["2"]]], 3);
  assert.equal(full.length, 1, "a full sheet is not followed by an empty one");
  const [none] = await write(["Order"], []);
  assert.deepEqual(shownText(none!), [["Order"]]);
});

Deno.test("excel: the name of a sheet has at most 31 characters, and a further sheet keeps its number", async () => {
  const names = async (name: string) =>
    (await write(["Order"], [[["1"], ["2"], ["3"]]], 3, name)).map((sheet) => sheet.name);
  const longest = "Biaya dan jumlah neto per hari!";
  assert.deepEqual(await names(longest), [longest, "Biaya dan jumlah neto per har 2"]);
  assert.deepEqual(await names(`${longest} 2026`), [longest, "Biaya dan jumlah neto per har 2"]);
});

Deno.test("excel: reads pages only as far ahead of the reader as the compression buffers", async () => {
  let read = 0;
  async function* pages(): AsyncGenerator<Rows> {
    for (let page = 0; page < 300; page++) {
      read = page;
      // Random, so that compression does not make the file small.
      yield await Promise.resolve(
        Array.from({ length: 100 }, () => [crypto.randomUUID(), crypto.randomUUID()]),
      );
    }
  }
  const file = excelFormat("Payments").write(["A", "B"], pages());
  const { value, done } = await file.next();
  assert.ok(!done && value.length > 0);
  for (let turn = 0; turn < 1_000; turn++) await Promise.resolve();
  assert.ok(read < 150, `${read} of 300 pages were read for the first chunk`);
  await file.return();
});

Deno.test("excel: an error of a page breaks the file off", async () => {
  async function* pages(): AsyncGenerator<Rows> {
    yield await Promise.resolve([["1"]]);
    throw new Error("The database is gone");
  }
  const file = ReadableStream.from(excelFormat("Payments").write(["A"], pages()));
  await assert.rejects(new Response(file).arrayBuffer(), /The database is gone/);
});
