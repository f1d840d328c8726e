/** The fleet of the bench at the size of the largest public one: 10,000 workers for five minutes, and no lease lost. */
import { type FleetOptions, print, run as runFleet, tiny } from "../bench/fleet.ts";

export const about = "10,000 workers over real HTTP for five minutes: no lease is lost";

export const run = ({ workers = 10_000, seconds = 300 }: FleetOptions = {}) => runFleet({ workers, seconds });

export { print, tiny };
export const shownBy = "test/bench/fleet.ts";

if (import.meta.main) console.log(print(await run()));
