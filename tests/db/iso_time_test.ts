import assert from "node:assert/strict";
import { isoTime } from "../../db/records/iso_time.ts";

Deno.test("isoTime: returns the text of toISOString for every time", () => {
  const times = [
    "1970-01-01T00:00:00.000Z",
    "1969-12-31T23:59:59.999Z",
    "2024-02-29T09:05:07.008Z",
    "2026-12-31T23:59:59.999Z",
    "2027-01-01T00:00:00.000Z",
    "0001-01-01T00:00:00.001Z",
    "-000001-06-15T12:34:56.789Z",
    "+010000-01-01T00:00:00.010Z",
  ];
  for (const time of times) assert.equal(isoTime(new Date(time)), time);
  for (let time = Date.UTC(2026, 1, 27); time < Date.UTC(2026, 2, 3); time += 987_654) {
    assert.equal(isoTime(new Date(time)), new Date(time).toISOString());
  }
});

Deno.test("isoTime: throws for an invalid date, like toISOString", () => {
  for (let call = 0; call < 2; call++) assert.throws(() => isoTime(new Date(NaN)), RangeError);
});
