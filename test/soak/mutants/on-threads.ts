/** What is different where Stryker runs our tests. */
import fc from "fast-check";
import { inject, vi } from "vitest";

/** It runs them on threads, where nobody may set the umask: there it stays as it is. */
process.umask = () => 0o022;

/**
 * That a mutant breaks a property is enough; nobody needs the smallest example. Every run tries the same cases: one that tried others,
 * or fewer because the machine was slow, would count as noticed what nobody noticed.
 */
fc.configureGlobal({ endOnFailure: true, seed: 1 });

/** What a mutant holds up for so long does not come. */
if (inject("mode" as never) === "mutant") vi.setConfig({ testTimeout: 30_000 });
