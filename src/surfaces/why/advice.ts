/** What to do about a cause, as one types it. Every command between quotes is one of the program: a test reads them all. */
import type { Cause, CauseAdvice } from "../../daemons/index.ts";
import { printable } from "../cli/text.ts";

const WORDS: Readonly<Record<CauseAdvice["action"], (subject: string) => string>> = {
  up: () => "Start it: 'ringrift up', or 'ringrift train' if you train on this machine.",
  start: (name) => `Start it: 'ringrift daemons start ${name}'.`,
  reset: (name) => `Mend the cause, then reset it: 'ringrift daemons reset ${name}'.`,
  resume: (name) => `Resume it: 'ringrift daemons resume ${name}'.`,
  restart: (name) => `Start it anew: 'ringrift daemons restart ${name}'.`,
  show: (name) => `Look at what was done to it: 'ringrift daemons show ${name}', and at its lines in 'ringrift logs'.`,
  list: () => "Its recent errors are in 'ringrift daemons list'.",
  why: (name) => `Ask for it: 'ringrift why ${name}'.`,
  letters: (consumer) => `See them with 'ringrift dlq --consumer ${consumer}'.`,
  resume_config: (config) => `Let it go on: 'ringrift resume ${config}'.`,
  retry_config: (config) =>
    `See what failed, try by try: 'ringrift pipeline ${config} --history'. When the cause is mended: 'ringrift retry ${config}'.`,
  pipeline: (config) => `See where it stands: 'ringrift pipeline ${config}'.`,
  history: (config) => `See what failed, try by try: 'ringrift pipeline ${config} --history'.`,
  add_worker: () =>
    "Start one here with 'ringrift worker', or on another machine: 'ringrift token create <label> --join' here prints the line to run there.",
  show_node: (node) => `Look at it: 'ringrift nodes show ${node}'. It goes on by itself when its reason is over.`,
  uncordon: (node) => `Let it have work again: 'ringrift nodes uncordon ${node}'.`,
  free_disk: (node) => `Free space on the disk of ${node}; it goes on by itself. 'ringrift doctor' looks closer there.`,
  unburden: (node) =>
    `End what else runs on ${node}, or wait: it goes on by itself. 'ringrift nodes show ${node}' tells more.`,
  show_job: (job) => `See what its attempts said: 'ringrift queue show ${job}'.`,
  retry_job: (job) =>
    `See why with 'ringrift queue show ${job}'; let it be tried again with 'ringrift queue retry ${job}'.`,
  alerts: () => "See them with 'ringrift alerts'.",
  health: () => "See what it is made of: 'ringrift health'.",
  audit: () => "See what is wired how: 'ringrift audit'.",
  doctor: () => "Free space, or make the data folder writable; it goes on by itself. 'ringrift doctor' looks closer.",
  consumer: () => "Is it connected, and does it keep up? 'ringrift status' shows how far it is behind.",
  dead_letters: () => "'ringrift dlq' shows causes and what to do.",
  ledger: () => "See what was rejected, and why: 'ringrift ledger'.",
};

/** Nothing where nothing is to be done, or where the process is newer than this program. */
export const adviceWords = (advice: Cause["advice"] | undefined): string => {
  const words = WORDS[advice?.action as CauseAdvice["action"]];
  return words === undefined ? "" : words(printable(advice!.subject));
};
