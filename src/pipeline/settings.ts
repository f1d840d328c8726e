/** What operators may set of the pipeline. */
import { tagList, yesNo } from "../kernel/settings/index.ts";

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
};
