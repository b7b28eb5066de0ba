/** What an export consists of, and how it becomes a file. */

/** A `Date` is a time, a `PlainDate` a day. */
export type Cell = string | number | boolean | Date | Temporal.PlainDate | null;

export type Rows = readonly (readonly Cell[])[];

export interface FileFormat {
  contentType: string;
  /** The extension of the file name, such as `csv`. */
  extension: string;
  /** Reads a page when the reader has taken the chunks of the previous ones. */
  write(columns: readonly string[], pages: AsyncIterable<Rows>): AsyncGenerator<Uint8Array, void>;
}
