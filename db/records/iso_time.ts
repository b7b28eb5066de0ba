/** Times as text. */

const DAY_MS = 86_400_000;

/** The day of the last call. Most times of a request, or of a page of a list, are of one day. */
let latest = { day: NaN, text: "" };

/**
 * The same text as `toISOString`, in a third of the time. Serialize times with it before
 * `JSON.stringify`: V8 leaves its fast path for an object that contains a `Date`.
 */
export function isoTime(date: Date): string {
  const time = date.getTime();
  const day = Math.floor(time / DAY_MS);
  if (day !== latest.day) {
    latest = { day, text: date.toISOString().slice(0, -"hh:mm:ss.sssZ".length) };
  }
  const ms = time - day * DAY_MS;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const [hour, minute, second] = [Math.floor(minutes / 60), minutes % 60, seconds % 60];
  const fraction = String(ms % 1000).padStart(3, "0");
  const clock = `${twoDigits(hour)}:${twoDigits(minute)}:${twoDigits(second)}.${fraction}`;
  // Joined and not concatenated, because `JSON.stringify` is slow for a string that V8 has kept in
  // parts.
  return [latest.text, clock, "Z"].join("");
}

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : `${number}`;
}
