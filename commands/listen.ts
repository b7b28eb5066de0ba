/** Ports: what is wrong with one is told in words that say which setting to change. */

import { Failure } from "./failure.ts";

export interface Place {
  host: string;
  port: number;
  /** The setting that chooses the port. */
  setting: "PORT" | "SANDBOX_PORT";
}

/** Before anything is started, so that this is all there is to read. */
export async function refuseTakenPort(place: Place): Promise<void> {
  const { host: hostname, port } = place;
  await explainListenErrors(place, () => Deno.listen({ hostname, port }).close());
}

export async function explainListenErrors<T>(
  { host, port, setting }: Place,
  attempt: () => T | Promise<T>,
): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new Failure(`Port ${port} is taken: stop what listens there, or set ${setting}.`);
    }
    if (error instanceof Deno.errors.AddrNotAvailable) {
      throw new Failure(`${host} is no address of this machine: set HOST.`);
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new Failure(`The system does not let us listen on port ${port}: set ${setting}.`);
    }
    throw error;
  }
}
