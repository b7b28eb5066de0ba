/** Parsers for the text of a setting; each returns undefined if the text is not valid. */

export function wholeNumber(min: number, max: number) {
  return (text: string) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
}

/** Numbers separated by commas. */
export function wholeNumbers(min: number, max: number, maxCount: number) {
  return (text: string) => {
    const values = text.split(",").map((each) => wholeNumber(min, max)(each.trim()));
    const isValid = values.length <= maxCount && values.every((each) => each !== undefined);
    return isValid ? values : undefined;
  };
}

export function trueOrFalse(text: string): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}

/** `DENO_DEPLOY`: every value counts, except for those that mean no. */
export function meansDenoDeploy(text: string | undefined): boolean {
  return !["", "0", "false"].includes((text ?? "").trim().toLowerCase());
}

export function matching(shape: RegExp) {
  return (text: string) => shape.test(text) ? text : undefined;
}

export function url(accepts: (address: URL) => boolean) {
  return (text: string) => {
    const address = URL.parse(text);
    return address && address.hostname && accepts(address) ? text : undefined;
  };
}

export function baseUrl(text: string): string | undefined {
  const address = URL.parse(text);
  if (!address || !isEncryptedOrLoopback(address)) return undefined;
  // Paths are appended to the base URL, so it must not end in a query or a fragment.
  const { origin, pathname } = address;
  return address.href === origin + pathname ? (origin + pathname).replace(/\/+$/, "") : undefined;
}

export function isEncryptedOrLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}

const MAX_ADDRESSES = 10;

/** Email addresses separated by commas. */
export function parseAddresses(text: string): string[] | undefined {
  const addresses = text.split(",").map((each) => each.trim());
  const isValid = addresses.length <= MAX_ADDRESSES &&
    addresses.every((each) => /^[^\s<>@;"]+@[\w.-]+$/.test(each));
  return isValid ? addresses : undefined;
}
