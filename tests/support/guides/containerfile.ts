/** Runs the instructions of a container file in a folder, without a container engine. */

import assert from "node:assert/strict";
import { basename, dirname, join } from "node:path";
import { PROJECT } from "../project.ts";
import { DOWNLOAD_ENV, environment } from "../service.ts";

export interface Image {
  /** The folder that is the root of the image's file system. */
  root: string;
  /** The working directory of its command. */
  workdir: string;
  env: Record<string, string>;
  /** The values of the build arguments, by `$NAME`. */
  buildArgs: Record<string, string>;
  command: string[];
  /** The arguments of the command, unless others are given. */
  args: string[];
  /** The source paths of all `COPY` instructions. */
  copied: string[];
}

/** Runs the instructions in a folder that contains only Deno, instead of the base image. */
export async function buildImage(root: string, file = "Containerfile"): Promise<Image> {
  await Deno.mkdir(join(root, "bin"), { recursive: true });
  await Deno.copyFile(Deno.execPath(), join(root, "bin/deno"));
  await Deno.chmod(join(root, "bin/deno"), 0o755);
  const image: Image = {
    root,
    workdir: root,
    env: {},
    buildArgs: {},
    command: [],
    args: [],
    copied: [],
  };
  for (const [name, rest] of instructionsOf(await readProjectFile(file))) {
    const runInstruction = INSTRUCTIONS[name];
    assert.ok(runInstruction, `The instruction ${name} is not supported`);
    await runInstruction(image, rest);
  }
  return image;
}

/** The environment of a process in the image. */
export function imageEnvironment({ root, env }: Image): Record<string, string> {
  const variables = Object.entries(env).map(([name, value]) => [
    name,
    value.startsWith("/") ? join(root, value) : value,
  ]);
  return { PATH: `${root}/bin:/usr/bin:/bin`, ...Object.fromEntries(variables) };
}

/** The paths that `.dockerignore` includes again; its first line excludes everything. */
export async function includedPaths(): Promise<string[]> {
  const [first, ...others] = (await readProjectFile(".dockerignore")).split("\n")
    .filter((line) => line && !line.startsWith("#"));
  assert.equal(first, "*");
  return others.map((line) => line.replace(/^!/, ""));
}

function readProjectFile(name: string): Promise<string> {
  return Deno.readTextFile(join(PROJECT, name));
}

function instructionsOf(file: string): [name: string, rest: string][] {
  const lines = file.replaceAll(/\\\n\s*/g, "").split("\n");
  return lines.filter((line) => line && !line.startsWith("#")).map((line) => {
    const [, name, rest] = line.match(/^([A-Z]+) (.+)$/)!;
    return [name!, rest!];
  });
}

const INSTRUCTIONS: Record<string, (image: Image, rest: string) => Promise<void> | void> = {
  FROM: (_, rest) => assert.match(rest, /^docker\.io\/denoland\/deno:\d+\.\d+\.\d+$/),
  EXPOSE: (_, rest) => assert.match(rest, /^800[01]$/),
  USER: (_, rest) => assert.equal(rest, "deno"),
  async WORKDIR(image, rest) {
    image.workdir = join(image.root, rest);
    await Deno.mkdir(image.workdir, { recursive: true });
  },
  /** A build argument, with the default value that it has without `--build-arg`. */
  ARG(image, rest) {
    const [, name, value] = rest.match(/^(\w+)=(\S+)$/)!;
    image.buildArgs[`$${name}`] = value!;
  },
  ENV(image, rest) {
    const [, name, value] = rest.match(/^(\w+)=(\S+)$/)!;
    image.env[name!] = image.buildArgs[value!] ?? value!;
  },
  async COPY(image, rest) {
    const names = rest.split(" ");
    const to = join(image.workdir, names.pop()!);
    for (const name of names) {
      image.copied.push(name);
      const from = join(PROJECT, name);
      // As in a container engine, copying a folder copies its contents and not the folder itself.
      const { isFile } = await Deno.stat(from);
      await copy(from, isFile ? join(to, basename(name)) : to);
    }
  },
  async RUN(image, rest) {
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", rest],
      env: environment({ ...DOWNLOAD_ENV, ...imageEnvironment(image) }),
      clearEnv: true,
      cwd: image.workdir,
      stdin: "null",
    }).output();
    assert.equal(code, 0, `RUN ${rest}\n${new TextDecoder().decode(stderr)}`);
  },
  ENTRYPOINT: (image, rest) => void (image.command = JSON.parse(rest)),
  CMD: (image, rest) => void (image.args = JSON.parse(rest)),
};

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(dirname(to), { recursive: true });
  const args = ["-rT", from, to];
  const { success } = await new Deno.Command("cp", { args }).output();
  assert.ok(success, `${from} cannot be copied to ${to}`);
}
