import { type SettingValues, settingDefaults } from "../../kernel/settings/index.ts";
import { nodeSettings } from "../settings.ts";

/** How often nodes speak, and what their silence means: one profile for the coordinator and all nodes. */
export type NodeTiming = SettingValues<typeof nodeSettings.timing>;

export const nodeTimingDefaults: NodeTiming = settingDefaults(nodeSettings.timing);

/** As nodes are told it, in seconds. */
export const timingOnTheWire = ({ beatMs, suspectMs, deadMs }: NodeTiming) => ({
  beat_seconds: beatMs / 1_000,
  suspect_seconds: suspectMs / 1_000,
  dead_seconds: deadMs / 1_000,
});
