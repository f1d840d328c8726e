/**
 * Builds what is published: the program as a bundle, and the types of all of `src`, into `dist`, from nothing each time.
 *
 * It fails when a file that package.json promises is missing, when a test slipped in, or when a built file still looks for
 * a `.ts` file that only the sources have.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle, licensesOf } from "./parts/bundle.ts";
import { COMPILER, COMPILER_THREADS, OperatingError, ROOT, reportAndExit } from "./parts/root.ts";
import { buildPage } from "./parts/web-page.ts";

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

const promised = ({ bin, exports }: Manifest): string[] => [
  ...Object.values(bin),
  ...Object.values(exports).flatMap((target) => (typeof target === "string" ? [target] : Object.values(target))),
];

/** A path beside `import.meta.url` is no import: the compiler leaves its ending alone. */
const LOOKS_FOR_SOURCE = /new URL\(\s*["'`][^"'`]*\.ts["'`]\s*,\s*import\.meta\.url/;

async function build(): Promise<string> {
  const dist = join(ROOT, "dist");
  rmSync(dist, { recursive: true, force: true });
  const compiled = spawnSync(
    process.execPath,
    [COMPILER, ...COMPILER_THREADS, "-p", join(ROOT, "tsconfig.build.json")],
    {
      stdio: "inherit",
    },
  );
  if (compiled.status !== 0) throw OperatingError.internal("BUILD_TYPES", "the compiler found errors, listed above");
  const inputs = await bundle(dist);
  const page = await buildPage(join(dist, "web"));
  writeFileSync(join(dist, "licenses.txt"), licensesOf([...inputs, ...page.inputs]));

  const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const missing = promised(manifest).filter((path) => !existsSync(join(ROOT, path)));
  if (missing.length > 0)
    throw OperatingError.internal(
      "BUILD_INCOMPLETE",
      `package.json promises files that were not built: ${missing.join(", ")}`,
      {
        hint: "Each entry of 'bin' and 'exports' needs its source file in src.",
      },
    );

  const built = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((path) => /\.(js|ts)$/.test(path));
  const tests = built.filter((path) => /\.(test|contract)\.(d\.ts|js)$/.test(path));
  if (tests.length > 0)
    throw OperatingError.internal("BUILD_TESTS", `tests are among the built files: ${tests.join(", ")}`);
  const broken = built.filter(
    (path) => path.endsWith(".js") && LOOKS_FOR_SOURCE.test(readFileSync(join(dist, path), "utf8")),
  );
  if (broken.length > 0)
    throw OperatingError.internal(
      "BUILD_SOURCE_PATH",
      `these look for a .ts file that is not published: ${broken.join(", ")}`,
      {
        hint: "Name it with `moduleBeside` of the kernel, which chooses the ending by that of import.meta.url.",
      },
    );
  return `${page.summary}\ndist: ${inputs.length} modules in ${built.filter((path) => path.endsWith(".js")).length} files\n`;
}

await reportAndExit(async () => {
  process.stderr.write(await build());
  return 0;
});
