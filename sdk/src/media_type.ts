/** What kind of answer it is, without the parameters after it: `application/json`. */

export function mediaType(response?: Response): string | null {
  const [type] = response?.headers.get("Content-Type")?.split(";") ?? [];
  return type?.trim().toLowerCase() || null;
}
