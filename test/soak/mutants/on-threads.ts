/** Stryker runs tests on threads, where nobody may set the umask: there it stays as it is. */
process.umask = () => 0o022;
