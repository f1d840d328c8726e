/** What is given away and what is in hand, in words: those of the command and of the page. */
import { number, plural } from "../cli/text.ts";
import type { Resources } from "./wire.ts";

export const poolsWords = ({ pools }: Pick<Resources, "pools">): string =>
  `${plural(pools.commits, "commit")} for the writer, ${plural(pools.scans, "read")} for the reader`;

export const grantsWords = ({ grants }: Pick<Resources, "grants">): string =>
  `${plural(grants.jobs, "job")} held by nodes, ${plural(grants.locks, "lock")} held, ${plural(grants.fetches, "file")} to fetch (limit ${number(grants.max_fetches)})`;

export const transfersWords = ({ transfers }: Pick<Resources, "transfers">): string =>
  `${plural(transfers.incoming.length, "upload")} (limit ${transfers.max_at_once}, from one sender ${transfers.max_of_one})`;
