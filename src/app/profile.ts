import { PROFILES, type Unit } from "../daemons/index.ts";
import { didYouMean, OperatingError } from "../kernel/index.ts";

/**
 * The members of a profile in a main process: the units that name it, those that every such process has, and all that the
 * user brought. A joined node runs the units that name `training_node`, and no others: it has no router.
 */
export function profileOf(
  name: string,
  units: readonly Unit[],
  own: readonly Unit[],
): { name: string; members: string[] } {
  if (!(PROFILES as readonly string[]).includes(name))
    throw OperatingError.notFound("UNKNOWN_PROFILE", `there is no profile '${name}'.${didYouMean(name, PROFILES)}`, {
      hint: `There are: ${PROFILES.join(", ")}.`,
    });
  const members = units.filter(
    ({ profiles, placement }) => (profiles as readonly string[]).includes(name) || placement === "each-process",
  );
  return { name, members: [...members, ...own].map((unit) => unit.name) };
}
