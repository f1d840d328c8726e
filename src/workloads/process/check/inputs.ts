/** Inputs for the jobs of a check: copies in a folder of their own, so that it shows whether a program leaves them alone. */
import { copyFile, mkdir, open } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { OperatingError } from "../../../kernel/index.ts";
import type { Hasher } from "../hasher.ts";
import type { VerifiedArtifact } from "../outcome.ts";
import type { ExampleJob, JobInput } from "../protocol.ts";

async function fileSha256(file: string, hasher: Hasher): Promise<string> {
  const handle = await open(file, "r");
  try {
    return await hasher.sha256(handle, (await handle.stat()).size);
  } finally {
    await handle.close();
  }
}

/** Finds what an example asks for: a file beside the jobs, or the newest artifact of a kind that this check has made. */
export async function inputsOf(
  { inputs = [] }: ExampleJob,
  made: readonly VerifiedArtifact[],
  places: { readonly inputFolder: string; readonly jobsFolder: string },
  hasher: Hasher,
): Promise<JobInput[]> {
  const found: JobInput[] = [];
  await mkdir(places.inputFolder, { recursive: true });
  for (const [index, { name, path, artifact_kind: kind }] of inputs.entries()) {
    const source =
      path === undefined ? made.findLast((each) => each.kind === kind)?.file : resolve(places.jobsFolder, path);
    if (source === undefined)
      throw new OperatingError("WORKLOAD_CHECK_INPUT", `No artifact of kind "${kind}" was made before it is needed.`, {
        hint: "Order the examples so that what makes an artifact comes before what reads it.",
      });
    const file = join(places.inputFolder, `${index}-${basename(source)}`);
    await copyFile(source, file);
    found.push({ name, path: file, sha256: await fileSha256(file, hasher) });
  }
  return found;
}
