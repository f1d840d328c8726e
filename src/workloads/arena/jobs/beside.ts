import type { z } from "zod";
import { badInput, type ServedJob } from "../../process/index.ts";
import { decodeGames } from "../files/games-file.ts";
import { readWithin } from "../files/store.ts";
import type { Game } from "../games/game.ts";
import type { Beside } from "../play/self-play.ts";
import { networkEvaluator } from "../search/evaluator.ts";
import { createSearch } from "../search/puct.ts";
import { naming } from "./failures.ts";
import { inputsLike, type JobWorld } from "./job-world.ts";
import { searchOf, type selfPlayParameters } from "./parameters.ts";

type Given = Omit<z.output<ReturnType<typeof selfPlayParameters>>, "games" | "format">;

/** What the games of a job draw on beside their network: games of the inputs `archive...`, and the network of the input `opponent`. */
export async function besideOf(job: ServedJob, world: JobWorld, game: Game, given: Given): Promise<Beside> {
  const network = given.opponent_share > 0 ? await world.model(job, "opponent", game) : undefined;
  const files = given.archive_share > 0 ? inputsLike(job, "archive") : [];
  const archives = [];
  for (const input of files)
    archives.push(
      await naming(input, async () => {
        // Every game is played through: one that is not by the rules makes the file a corrupt one.
        const file = decodeGames(await readWithin(input.path));
        if (file.configKey === game.configKey) return file.games;
        throw badInput(`It holds games of ${file.configKey}, not of ${game.configKey}.`);
      }),
    );
  return {
    archive: archives.flat(),
    opponent: network && createSearch(game, networkEvaluator(game, network), searchOf(given)),
  };
}
