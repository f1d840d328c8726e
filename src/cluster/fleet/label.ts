/** Names of machines: `rr-<fleet>-<ulid>`. By its name alone a machine is ours, and belongs to one row of the ledger. */
import type { Ids, Random } from "../../kernel/index.ts";

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
const FLEET_CHARACTERS = 8;
const LABEL = /^rr-([0-9a-hjkmnp-tv-z]{8})-([0-9a-hjkmnp-tv-z]{26})$/;

/** A name of the fleet, so that two coordinators in one account never take each other's machines for their own. */
export const newFleetName = (random: Random): string =>
  Array.from({ length: FLEET_CHARACTERS }, () => CROCKFORD[random.bits() & 31]).join("");

/** A ULID from a UUID of version 7: both are 128 bits that begin with the time. */
function ulidOf(uuid: string): string {
  let bits = BigInt(`0x${uuid.replaceAll("-", "")}`);
  let text = "";
  for (let n = 0; n < 26; n += 1) {
    text = `${CROCKFORD[Number(bits & 31n)]}${text}`;
    bits >>= 5n;
  }
  return text;
}

export const newLabel = (fleet: string, ids: Ids): string => `rr-${fleet}-${ulidOf(ids.uuid())}`;

/** Whether a machine's name is one of this fleet's. */
export const isOurs = (fleet: string, label: string | null): label is string =>
  label !== null && LABEL.exec(label)?.[1] === fleet;
