/** What operators may set of the pipeline. */
import { seconds, tagList, yesNo } from "../kernel/settings/index.ts";

export const pipelineSettings = {
  configs: tagList({
    key: "loop.configs",
    variable: "RINGRIFT_LOOP_CONFIGS",
    default: "",
    shown: "none",
    about: "Configs that the main process trains, separated by commas.",
  }),
  allowPendingGate: yesNo({
    key: "training.allow_pending_gate",
    variable: "RINGRIFT_ALLOW_PENDING_GATE",
    default: false,
    about: "Use data for training while its parity check is still pending.",
  }),
  oldChampionMs: seconds({
    key: "loop.old_champion",
    variable: "RINGRIFT_OLD_CHAMPION",
    min: 0,
    max: 31_536_000,
    default: 1_800,
    about:
      "How long self-play may go on with a champion that was replaced or rolled back. After that its jobs are taken back, and the champion of now plays what is left; where no node has shown that it can, they go on.",
  }),
};
