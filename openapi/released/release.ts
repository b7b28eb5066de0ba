/** Program: stores the current document as the released document of its version. */

const text = await Deno.readTextFile("openapi/openapi.json");
const { version } = JSON.parse(text).info;
const path = `openapi/released/${version}.json`;
const released = await readIfExists(path);
if (released === null) {
  await Deno.writeTextFile(path, text, { createNew: true });
  console.log(`Created ${path}`);
} else if (released === text) {
  console.log(`${path} is up to date`);
} else {
  // Clients may depend on a released document, so it must not change.
  console.error(
    `Version ${version} is already released with a different document. Raise the version and retry.`,
  );
  Deno.exit(1);
}

async function readIfExists(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
