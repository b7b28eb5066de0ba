/** Makes every end of a line that a stream of events may have (LF, CRLF, CR) the first of them. */

export function plainLineEnds(): TransformStream<string, string> {
  let endedWithCr = false;
  return new TransformStream({
    transform(text, to) {
      // A CR counts at once; whether it was half of a CRLF only the next piece tells.
      const rest = endedWithCr && text.startsWith("\n") ? text.slice(1) : text;
      endedWithCr = text.endsWith("\r");
      to.enqueue(rest.replace(/\r\n?/g, "\n"));
    },
  });
}
