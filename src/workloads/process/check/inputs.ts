/** Inputs for the jobs of a check: copies in a folder of their own, so that it shows whether a program leaves them alone. */
import { copyFile, mkdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type FileHasher, OperatingError } from "../../../kernel/index.ts";
import type { VerifiedArtifact } from "../outcome.ts";
import type { ExampleJob, JobInput } from "../protocol.ts";

/** Finds what an example asks for: a file beside the jobs, or the newest artifact of a kind that this check has made. */
export async function inputsOf(
  { inputs = [] }: ExampleJob,
  made: readonly VerifiedArtifact[],
  folder: string,
  jobsFolder: string,
  hasher: FileHasher,
): Promise<JobInput[]> {
  const found: JobInput[] = [];
  await mkdir(folder, { recursive: true });
  for (const [index, { name, path, artifact_kind: kind }] of inputs.entries()) {
    const source = path === undefined ? made.findLast((each) => each.kind === kind)?.file : resolve(jobsFolder, path);
    if (source === undefined)
      throw OperatingError.internal(
        "WORKLOAD_CHECK_INPUT",
        `No artifact of kind "${kind}" was made before it is needed.`,
        {
          hint: "Sort the examples: the job that makes an artifact must come before the job that reads it.",
        },
      );
    const file = join(folder, `${index}-${basename(source)}`);
    await copyFile(source, file);
    found.push({ name, path: file, sha256: (await hasher.hash(file)).sha256 });
  }
  return found;
}
