/** Where one can go, and by which key after `g`. */
export interface NavItem {
  readonly to: string;
  readonly name: string;
  readonly key: string;
}
export interface NavGroup {
  readonly name: string;
  readonly items: readonly NavItem[];
}

export const NAV: readonly NavGroup[] = [
  {
    name: "Overview",
    items: [
      { to: "/", name: "Home", key: "h" },
      { to: "/why", name: "Why", key: "y" },
      { to: "/alerts", name: "Alerts", key: "a" },
      { to: "/handover", name: "Hand-over", key: "v" },
    ],
  },
  {
    name: "Training",
    items: [
      { to: "/gates", name: "Gates", key: "g" },
      { to: "/models", name: "Models", key: "m" },
      { to: "/games", name: "Games", key: "o" },
      { to: "/play", name: "Play", key: "p" },
    ],
  },
  {
    name: "Cluster",
    items: [
      { to: "/work", name: "Work", key: "w" },
      { to: "/nodes", name: "Nodes", key: "n" },
      { to: "/cluster", name: "Cluster", key: "c" },
      { to: "/artifacts", name: "Artifacts", key: "f" },
    ],
  },
  {
    name: "Inside",
    items: [
      { to: "/journal", name: "Events", key: "e" },
      { to: "/dead-letters", name: "Dead letters", key: "x" },
      { to: "/daemons", name: "Daemons", key: "d" },
      { to: "/wiring", name: "Wiring", key: "i" },
    ],
  },
  {
    name: "Record",
    items: [
      { to: "/writes", name: "Writes", key: "r" },
      { to: "/settings", name: "Settings", key: "s" },
    ],
  },
];
