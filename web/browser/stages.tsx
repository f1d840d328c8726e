/** The six stages of a round: what is done, what runs and how far, what failed. */
import type { ConfigSnapshot } from "../../src/pipeline/snapshot.ts";
import { STAGE_WORDS, stageWords } from "../../src/surfaces/pipeline/words.ts";

export const Stages = ({ config }: { config: Pick<ConfigSnapshot, "stages" | "stage" | "state"> }) => (
  <span class="stages">
    <span class="strip" aria-hidden="true">
      {config.stages.map(({ stage, state, progress, breaker }) => (
        <i
          key={stage}
          class={breaker === "open" ? "failed" : state}
          title={`${STAGE_WORDS[stage]}: ${state}${breaker === "closed" ? "" : `, breaker ${breaker.replace("_", " ")}`}`}
        >
          {state === "running" && progress !== null && <b style={{ width: `${Math.round(progress * 100)}%` }} />}
        </i>
      ))}
    </span>
    <span class="sub">{config.state === "complete" ? "complete" : stageWords(config)}</span>
  </span>
);
