/** Runs the jobs, so many at once; the first that throws ends it when those that run have ended. */
export async function runSome(jobs: readonly (() => Promise<void>)[], atOnce: number): Promise<void> {
  const left = [...jobs];
  let failed: { readonly thrown: unknown } | undefined;
  const run = async () => {
    for (let job = left.shift(); job !== undefined && failed === undefined; job = left.shift())
      try {
        await job();
      } catch (thrown) {
        failed ??= { thrown };
      }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, jobs.length) }, run));
  if (failed !== undefined) throw failed.thrown;
}
