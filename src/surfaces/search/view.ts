/** Where each kind of thing is looked at: as a view of the page, and as a command. */
import type { Found } from "./wire.ts";

const VIEWS: Readonly<Record<Found["kind"], (id: string) => string>> = {
  config: (id) => `/configs/${id}`,
  job: (id) => `/work/${id}`,
  model: (id) => `/models/${id}`,
  games: (id) => `/games/${id.replace("%23", "?game=")}`,
  file: (id) => `/artifacts/${id}`,
  node: (id) => `/nodes/${id}`,
  daemon: (id) => `/daemons/${id}`,
  unit: (id) => `/why/${id}`,
  event: (id) => `/journal/${id}`,
  "event type": (id) => `/journal?type=${id}`,
  alert: (id) => `/alerts?id=${id}`,
  "dead letter": (id) => `/dead-letters?id=${id}`,
};

export const viewOf = ({ kind, id }: Pick<Found, "kind" | "id">): string => VIEWS[kind](encodeURIComponent(id));

const COMMANDS: Readonly<Record<Found["kind"], (id: string) => string>> = {
  config: (id) => `ringrift pipeline ${id}`,
  job: (id) => `ringrift queue show ${id}`,
  model: (id) => `ringrift models show ${id}`,
  games: (id) => `ringrift records show ${id}`,
  file: (id) => `ringrift artifacts show ${id}`,
  node: (id) => `ringrift nodes show ${id}`,
  daemon: (id) => `ringrift daemons show ${id}`,
  unit: (id) => `ringrift why ${id}`,
  event: (id) => `ringrift events show ${id}`,
  "event type": (id) => `ringrift events show ${id}`,
  alert: (id) => `ringrift alerts show ${id}`,
  "dead letter": (id) => `ringrift dlq show ${id}`,
};

export const commandOf = ({ kind, id }: Pick<Found, "kind" | "id">): string => COMMANDS[kind](id);
