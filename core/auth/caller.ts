/** Who is calling. */

export interface Caller {
  userId: string;
  isStaff: boolean;
  credential: "api_key" | "jwt";
  /** The shown part of the API key; null with a JWT. */
  keyPrefix: string | null;
}
