import { defined, didYouMean, OperatingError } from "../../kernel/index.ts";
import { daemonTypeRow, daemonTypes } from "../legacy.ts";

/** A daemon by its own name, and by the daemon types of the Python system whose work it does. */
export interface NamedDaemon {
  readonly name: string;
  readonly daemonTypes: readonly string[];
}

export interface ResolvedDaemon {
  readonly name: string;
  /** What to tell whoever uses a deprecated name. */
  readonly notice: string | null;
}

/** Its lower-case value is the name of another unit: that one keeps it. */
const TAKEN_VALUES: ReadonlySet<string> = new Set(["sync_coordinator"]);

/** The constant behind a constant or its lower-case value. */
const constantOf = (name: string): string | undefined => {
  if (daemonTypeRow(name) !== undefined) return name;
  const upper = name.toUpperCase();
  return name === name.toLowerCase() && !TAKEN_VALUES.has(name) && daemonTypeRow(upper) !== undefined
    ? upper
    : undefined;
};

/** The name under which a daemon is registered: that of its unit for a daemon type, any other name as it is. */
export const canonicalDaemonName = (name: string, daemons: readonly NamedDaemon[]): string =>
  daemons.find((daemon) => daemon.daemonTypes.includes(name))?.name ?? daemonTypeRow(name)?.unit ?? name;

/**
 * The daemon that a name means: one by its own name, or the one that answers for a daemon type. A type whose unit does not
 * exist yet is an error that says so.
 */
export function resolveDaemon(name: string, daemons: readonly NamedDaemon[]): ResolvedDaemon {
  const has = (other: string) => daemons.some((daemon) => daemon.name === other);
  if (has(name)) return { name, notice: null };
  const constant = constantOf(name);
  if (constant === undefined)
    throw OperatingError.notFound(
      "UNKNOWN_DAEMON",
      `there is no daemon '${name}'.${didYouMean(name, [...daemons.map((daemon) => daemon.name), ...Object.keys(daemonTypes)])}`,
      { hint: "getStatus() lists the registered daemons." },
    );
  const { unit, stage, replacedBy } = daemonTypeRow(constant)!;
  const found = canonicalDaemonName(constant, daemons);
  if (has(found))
    return { name: found, notice: replacedBy === undefined ? null : `'${name}' is deprecated: use '${replacedBy}'` };
  const details = { daemon_type: constant, ...defined({ unit, stage }) };
  throw unit === undefined
    ? OperatingError.conflict("DAEMON_NOT_BUILT", `no unit here implements '${name}'`, { status: 404, details })
    : OperatingError.conflict(
        "DAEMON_NOT_BUILT",
        `'${name}' is the work of the unit '${unit}', which does not exist here yet`,
        { status: 404, hint: `It comes with the stage '${stage}'.`, details },
      );
}
