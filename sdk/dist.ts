/** Where what is made goes. */

export const HERE = import.meta.dirname!;

/** Unless another folder is named on the command line. */
export const DIST = `${HERE}/dist`;

/** The folder, with nothing of an earlier time in it. */
export async function emptied(folder: string): Promise<string> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(folder, { recursive: true });
  return folder;
}
