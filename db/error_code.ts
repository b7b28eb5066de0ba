/** What an error is called by whoever throws it. */

/** The SQLSTATE, or what the driver or the system calls it; empty where there is none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
