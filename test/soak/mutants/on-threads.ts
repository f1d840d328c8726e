/** What is different where Stryker runs our tests. */
import fc from "fast-check";

/** It runs them on threads, where nobody may set the umask: there it stays as it is. */
process.umask = () => 0o022;

/** That a mutant breaks a property is enough, and it has two seconds for it; nobody needs the smallest example. */
fc.configureGlobal({ endOnFailure: true, interruptAfterTimeLimit: 2_000 });
