/** Settings of several nodes, side by side: what one has set and another has not, or otherwise. */

export interface NodeSetting {
  readonly key: string;
  readonly value: string | number | boolean | null;
}

export interface ReportedSettings {
  readonly node: string;
  readonly version: string;
  /** Those that are set there; every other one has its default. */
  readonly settings: readonly NodeSetting[];
}

export interface SettingDifference {
  readonly key: string;
  /** In the order of the nodes; undefined where the default holds. */
  readonly values: readonly (NodeSetting["value"] | undefined)[];
}

/** Each machine has its own: that they differ says nothing. */
const OWN = /^(config|data_dir|node_id|profile|workers\.local|log\..*|api\..*|transfers\.(serve_.*|tls_.*)|.*_file)$/;

/** The keys that are not the same everywhere, but for those that each machine has of its own. */
export function settingDifferences(nodes: readonly ReportedSettings[]): SettingDifference[] {
  const byNode = nodes.map(({ settings }) => new Map(settings.map(({ key, value }) => [key, value])));
  const keys = [...new Set(byNode.flatMap((settings) => [...settings.keys()]))].sort();
  return keys
    .filter((key) => !OWN.test(key))
    .map((key) => ({ key, values: byNode.map((settings) => settings.get(key)) }))
    .filter(({ values }) => new Set(values.map((value) => JSON.stringify(value ?? null))).size > 1);
}
