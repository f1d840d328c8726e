import { daemonProfiles, type Unit } from "../daemons/index.ts";
import { didYouMean, OperatingError } from "../kernel/index.ts";

/** The members of a profile: its units, and all that the user brought. */
export function profileOf(name: string, own: readonly Unit[]): { name: string; members: string[] } {
  const profiles = Object.keys(daemonProfiles);
  if (!profiles.includes(name))
    throw new OperatingError("UNKNOWN_PROFILE", `there is no profile '${name}'.${didYouMean(name, profiles)}`, {
      hint: `There are: ${profiles.join(", ")}.`,
    });
  const members: readonly string[] = daemonProfiles[name as keyof typeof daemonProfiles];
  return { name, members: [...members, ...own.map((unit) => unit.name)] };
}
