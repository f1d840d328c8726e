import { PROFILES, type Unit } from "../daemons/index.ts";
import { didYouMean, OperatingError } from "../kernel/index.ts";

/** The members of a profile: the units that name it, and all that the user brought. */
export function profileOf(
  name: string,
  units: readonly Unit[],
  own: readonly Unit[],
): { name: string; members: string[] } {
  if (!(PROFILES as readonly string[]).includes(name))
    throw OperatingError.notFound("UNKNOWN_PROFILE", `there is no profile '${name}'.${didYouMean(name, PROFILES)}`, {
      hint: `There are: ${PROFILES.join(", ")}.`,
    });
  const members = units.filter(({ profiles }) => (profiles as readonly string[]).includes(name));
  return { name, members: [...members, ...own].map((unit) => unit.name) };
}
