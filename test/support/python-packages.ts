/** Python packages of Debian, fetched into a private folder where the machine's Python does not have them. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { hasProgram, unpackedPackages } from "./debian-programs.ts";

/** What Python needs in its environment to import it; undefined where it is not to be had, which is said. */
function environmentFor(module: string, packages: readonly string[]): Record<string, string> | undefined {
  const imports = (env: Record<string, string>) =>
    spawnSync("python3", ["-c", `import ${module}`], { env: { ...process.env, ...env } }).status === 0;
  if (imports({})) return {};
  const place = "usr/lib/python3/dist-packages";
  const folder = hasProgram("python3") ? unpackedPackages(module, packages, join(place, module)) : undefined;
  if (folder !== undefined) {
    const libraries = join(folder, "usr/lib");
    const found = readdirSync(libraries).map((name) => join(libraries, name));
    const paths = found.flatMap((each) => [each, join(each, "blas"), join(each, "lapack")]);
    const env = { PYTHONPATH: join(folder, place), LD_LIBRARY_PATH: paths.join(":") };
    if (imports(env)) return env;
  }
  process.stderr.write(`SKIPPED: ${module} is missing (apt install ${packages[0]})\n`);
  return undefined;
}

export const numpyEnvironment = () =>
  environmentFor("numpy", ["python3-numpy", "libblas3", "liblapack3", "libgfortran5", "libquadmath0"]);

export const mypyEnvironment = () =>
  environmentFor("mypy", ["python3-mypy", "python3-mypy-extensions", "python3-typing-extensions"]);
