/** What is brought to a host: the packed program, what it needs of others, and the Node that runs it. Known by its content. */
import { createHash, hash } from "node:crypto";
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { OperatingError } from "../../kernel/index.ts";
import { SUPERVISE } from "./scripts.ts";

export interface Release {
  /** By the content of all its files: equal programs are one release. */
  readonly id: string;
  readonly version: string;
  /** A folder of links to what belongs to it; rsync follows them. */
  readonly folder: string;
}

export interface ReleaseParts {
  /** With package.json, bin and dist. */
  readonly program: string;
  /** Where the packages that the program does not carry itself are. */
  readonly modules: string;
  /** The program that runs it. */
  readonly node: string;
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}
const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** The packages that a program needs, and those that they need, as far as they are there. */
function neededPackages(program: string, modules: string): string[] {
  const found = new Set<string>();
  const open = Object.keys(manifestOf(program).dependencies ?? {});
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const folder = join(modules, name);
    if (found.has(name) || !existsSync(join(folder, "package.json"))) continue;
    found.add(name);
    open.push(...Object.keys(manifestOf(folder).dependencies ?? {}));
  }
  return [...found].sort();
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

const SMALL_BYTES = 4_194_304;

/** Most files are small, and there are thousands of them. */
async function hashOf(path: string): Promise<string> {
  if (statSync(path).size <= SMALL_BYTES) return hash("sha256", readFileSync(path));
  const whole = createHash("sha256");
  for await (const piece of createReadStream(path)) whole.update(piece as Buffer);
  return whole.digest("hex");
}

/** Puts a release together in an empty folder. */
export async function makeRelease({ program, modules, node }: ReleaseParts, folder: string): Promise<Release> {
  for (const part of ["package.json", "bin/ringrift.js", "dist/app/cli.js"])
    if (!existsSync(join(program, part)))
      throw OperatingError.invalid("PROGRAM_NOT_PACKED", `${program} is no packed program: it has no ${part}`, {
        hint: "In a checkout, run 'npm run build' first, or name an installed package with --program.",
      });
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  mkdirSync(join(folder, "bin"));
  const links: [string, string][] = [
    ["package.json", join(program, "package.json")],
    ["bin/ringrift.js", join(program, "bin/ringrift.js")],
    ["dist", join(program, "dist")],
    ["node", node],
  ];
  for (const name of neededPackages(program, modules)) links.push([`node_modules/${name}`, join(modules, name)]);
  const content = createHash("sha256");
  for (const [name, target] of links) {
    const real = realpathSync(target);
    mkdirSync(join(folder, name, ".."), { recursive: true });
    symlinkSync(real, join(folder, name));
    for (const file of statSync(real).isDirectory() ? filesIn(real) : [real])
      content.update(`${name}/${relative(real, file)} ${await hashOf(file)}\n`);
  }
  writeFileSync(join(folder, "supervise.sh"), SUPERVISE, { mode: 0o755 });
  content.update(SUPERVISE);
  const id = content.digest("hex").slice(0, 16);
  writeFileSync(join(folder, "release"), `${id}\n`);
  return { id, version: manifestOf(program).version, folder };
}
