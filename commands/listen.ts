/** The server's address, and errors that say why it cannot be used and which setting to change. */

import { Failure } from "./terminal.ts";

export interface ListenAddress {
  host: string;
  port: number;
  /** The name of the setting for this port. */
  setting: "PORT" | "SANDBOX_PORT";
}

/** Called before anything is started, so that the error is the only output. */
export async function requireFreePort(address: ListenAddress): Promise<void> {
  const { host: hostname, port } = address;
  await explainListenErrors(address, () => Deno.listen({ hostname, port }).close());
}

export async function explainListenErrors<T>(
  { host, port, setting }: ListenAddress,
  attempt: () => T | Promise<T>,
): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new Failure(
        `Port ${port} is already in use. Stop the program that uses it, or set ${setting}.`,
      );
    }
    if (error instanceof Deno.errors.AddrNotAvailable) {
      throw new Failure(`${host} is not an address of this machine. Set HOST.`);
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new Failure(`Permission denied for port ${port}. Set ${setting} to another port.`);
    }
    throw error;
  }
}

/** The URL of a server that listens. */
export function addressOf(addr: Deno.NetAddr): string {
  // Deno Deploy can make `Deno.serve` listen on something other than a TCP port.
  if (!("hostname" in addr)) return JSON.stringify(addr);
  const { hostname, port } = addr;
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
