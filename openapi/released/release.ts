/** A program: keeps the document as that of its version, once and for all. */

const text = await Deno.readTextFile("openapi/openapi.json");
const { version } = JSON.parse(text).info;
const path = `openapi/released/${version}.json`;
const released = await readIfThere(path);
if (released === null) {
  await Deno.writeTextFile(path, text, { createNew: true });
  console.log(`${path} is new`);
} else if (released === text) {
  console.log(`${path} is this document already`);
} else {
  // Whoever was built on it has to find it as it was.
  console.error(`${version} is released with another document: raise the version, then try again`);
  Deno.exit(1);
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
