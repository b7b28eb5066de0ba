/** Reads which libraries a program or library for macOS loads. */

const FAT = 0xcafebabe;
const MACH_O_64 = 0xfeedfacf;

/** The commands of a Mach-O file that load a library: normal, weak, and re-exported. */
const LOAD_COMMANDS = [0xc, 0x80000018, 0x8000001f];

/** The processors of Macs. */
const CPU_NAMES: Record<number, string> = { 0x1000007: "x64", 0x100000c: "arm64" };

/** For each processor that the file is for: the names of the libraries that it loads. */
export function loadedLibraries(file: Uint8Array): Map<string, string[]> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (view.getUint32(0) !== FAT) return new Map([readPart(view)]);
  return new Map(
    Array.from({ length: view.getUint32(4) }, (_, index) => {
      const entry = 8 + 20 * index;
      const [offset, size] = [view.getUint32(entry + 8), view.getUint32(entry + 12)];
      return readPart(new DataView(file.buffer, file.byteOffset + offset, size));
    }),
  );
}

function readPart(view: DataView): [cpu: string, libraries: string[]] {
  if (view.getUint32(0, true) !== MACH_O_64) throw new Error("This is not a program for macOS");
  const cpu = CPU_NAMES[view.getUint32(4, true)] ?? "other";
  const libraries: string[] = [];
  let command = 32;
  for (let left = view.getUint32(16, true); left > 0; left--) {
    const size = view.getUint32(command + 4, true);
    if (LOAD_COMMANDS.includes(view.getUint32(command, true))) {
      const start = command + view.getUint32(command + 8, true);
      libraries.push(readText(view, start, command + size));
    }
    command += size;
  }
  return [cpu, libraries];
}

/** The text before the first zero byte. */
function readText(view: DataView, start: number, end: number): string {
  const bytes = new Uint8Array(view.buffer, view.byteOffset + start, end - start);
  return new TextDecoder().decode(bytes).split("\0")[0]!;
}
