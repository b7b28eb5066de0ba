/** Who is calling. */

export interface Caller {
  userId: string;
  isStaff: boolean;
  credential: "api_key" | "jwt";
  /** The shown part of the API key; null with a JWT. */
  keyPrefix: string | null;
}

/** Some text that can be shown: a user's id is logged, listed and answered. */
export function isPrintableText(text: string): boolean {
  return /^(?=.*\S)\P{C}{1,255}$/u.test(text);
}
