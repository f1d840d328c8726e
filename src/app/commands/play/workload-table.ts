/**
 * A game between a person and a program of anybody's. Every question is a job of the kind `play` on one child: the moves so far go
 * there, the position comes back. So the program needs no memory, and any move can be taken back.
 */
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import {
  assert,
  type Clock,
  createIds,
  type Environment,
  messageOf,
  OperatingError,
  type Random,
  silentLog,
} from "../../../kernel/index.ts";
import {
  createGuardian,
  createRunner,
  createWorkloadHasher,
  type JobOutcome,
  MAX_POSITION_BYTES,
  PLAY_KIND,
  POSITION_KIND,
  type Position,
  positionSchema,
} from "../../../workloads/process/index.ts";
import type { NamedWorkload } from "../../worker/workload-list.ts";
import type { PlayTable, TableRequest } from "./play-table.ts";

export interface TableEdges {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** For this game alone; whoever gave it removes it. */
  readonly folder: string;
}

const failed = (workload: NamedWorkload, why: string, hint?: string, cause?: unknown): OperatingError =>
  OperatingError.internal("PLAY_FAILED", `the program of workload '${workload.name}' cannot play: ${why}`, {
    hint: hint ?? "docs/41-workloads.md shows the answers of a 'play' job.",
    cause,
  });

/** The position that a job has written, if it is one. */
async function positionOf(workload: NamedWorkload, outcome: JobOutcome): Promise<Position> {
  if (outcome.status !== "completed") {
    const { code, reason } = outcome.error ?? { code: outcome.status, reason: outcome.reason };
    const lastLine = outcome.stderr_tail.trim().split("\n").at(-1);
    throw failed(workload, `${reason} (${code})`, lastLine === "" ? undefined : `It wrote last: ${lastLine}`);
  }
  const written = outcome.artifacts.find(({ kind }) => kind === POSITION_KIND);
  if (written === undefined) throw failed(workload, `it wrote no file of the kind '${POSITION_KIND}'`);
  if (written.bytes > MAX_POSITION_BYTES) throw failed(workload, `its position has ${written.bytes} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(written.file, "utf8"));
  } catch (cause) {
    throw failed(workload, `its position is no JSON: ${messageOf(cause)}`, undefined, cause);
  }
  const parsed = positionSchema().safeParse(value);
  if (!parsed.success) throw failed(workload, `its position is wrong: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

export async function openWorkloadTable(
  workload: NamedWorkload,
  { configKey, seat, baseline, modelPath, simulations, seed }: TableRequest,
  edges: TableEdges,
): Promise<PlayTable> {
  const { clock, random, env, signal, folder } = edges;
  const log = silentLog();
  const guardian = createGuardian({ ids: createIds(clock, random), log });
  const hasher = createWorkloadHasher();
  const place = {
    folder: join(folder, "program"),
    inputFolders: [modelPath === undefined ? folder : dirname(resolve(modelPath))],
  };
  const runner = createRunner(workload.declaration, place, { clock, log, guardian, hasher, env });
  const close = async () => {
    await runner.close();
    await guardian.close();
    await hasher.close();
  };
  let jobs = 0;
  const ask = async (moves: readonly string[], inputs: Parameters<typeof runner.runJob>[0]["inputs"], rest: object) => {
    jobs += 1;
    const job = {
      job_id: `play-${jobs}`,
      kind: PLAY_KIND,
      config_key: configKey,
      attempt: 1,
      fence: 0,
      seed,
      deadline: null,
      parameters: { moves: [...moves], ...rest },
      inputs,
      output_folder: join(folder, `output-${jobs}`),
      scratch_folder: join(folder, `scratch-${jobs}`),
    };
    return positionOf(workload, await runner.runJob(job, { signal }));
  };

  try {
    const path = modelPath === undefined ? undefined : resolve(modelPath);
    const model = path === undefined ? [] : [{ name: "model", path, sha256: (await hasher.hash(path)).sha256 }];
    const opponent = model.length > 0 ? { simulations: simulations ?? null } : { opponent: baseline ?? null };
    const played: string[] = [];
    /** The position after each move, the first one before any. */
    const positions = [await ask([], [], {})];
    const now = () => positions.at(-1)!;
    const { title = configKey, rules = "", players } = now();
    if (seat >= players) throw OperatingError.invalid("INVALID_SEAT", `${title} has seats 1 to ${players}.`);
    const add = (move: string, position: Position): void => {
      played.push(move);
      positions.push(position);
    };
    return {
      title,
      rules,
      seat,
      players,
      turn: () => now().turn,
      isOver: () => now().legal_moves.length === 0,
      winner: () => (now().legal_moves.length === 0 ? (now().winner ?? undefined) : undefined),
      draw: () => now().board,
      legalMoves: () => [...now().legal_moves],
      moves: () => [...played],
      async play(text) {
        if (now().turn !== seat || !now().legal_moves.includes(text)) return false;
        add(text, await ask([...played, text], [], {}));
        return true;
      },
      async reply() {
        assert(now().turn !== seat && now().legal_moves.length > 0, "an opponent is at turn");
        const position = await ask(played, model, { reply: true, ...opponent });
        const { move } = position;
        if (move === undefined || !now().legal_moves.includes(move))
          throw failed(
            workload,
            `it was to choose a move, and chose ${move === undefined ? "none" : `'${move}', which is not legal`}`,
          );
        add(move, position);
        return move;
      },
      async undo() {
        const back = positions.slice(0, -1).findLastIndex(({ turn }) => turn === seat);
        if (back < 0) return false;
        positions.length = back + 1;
        played.length = back;
        return true;
      },
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}
