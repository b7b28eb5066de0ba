/**
 * The servers of a database URL. A URL can name several servers of one database, as in libpq:
 * `postgres://user@first:5432,second:5432/database`, which `URL` does not parse.
 */

/** The user and the password may contain "@" and ",": some providers do not encode them. */
const PARTS = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;

/** The URL of each server. */
export function serverUrls(url: string): string[] {
  const [, before = "", hosts = "", after = ""] = url.match(PARTS) ?? [];
  return hosts.split(",").map((host) => before + host + after);
}

/** One URL of several servers, whose URLs differ in the host only. */
export function joinServers(urls: string[]): string {
  const hosts = urls.map((url) => url.match(PARTS)![2]);
  return urls[0]!.replace(PARTS, (_, before, _host, after) => before + hosts.join(",") + after);
}

/** The hosts and the database, without the user and the password. */
export function withoutSecrets(url: string): string {
  const servers = serverUrls(url).map((server) => new URL(server));
  return servers.map(({ host }) => host).join(",") + servers[0]!.pathname;
}
