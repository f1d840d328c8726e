/** What to do about a cause, as one types it. Every command between quotes is one of the program: a test reads them all. */
import type { Cause, CauseAdvice } from "../../daemons/index.ts";
import { printable } from "./text.ts";

const WORDS: Readonly<Record<CauseAdvice["action"], (subject: string) => string>> = {
  up: () => "Start it: 'ringrift up', or 'ringrift train' if you train on this machine.",
  start: (name) => `Start it: 'ringrift daemons start ${name}'.`,
  reset: (name) => `Fix the cause, then reset it: 'ringrift daemons reset ${name}'.`,
  resume: (name) => `Resume it: 'ringrift daemons resume ${name}'.`,
  restart: (name) => `Restart it: 'ringrift daemons restart ${name}'.`,
  show: (name) =>
    `See what was done with it: 'ringrift daemons show ${name}'. See its log: 'ringrift logs --unit ${name}'.`,
  list: () => "Its recent errors are in 'ringrift daemons list'.",
  why: (name) => `Find out more: 'ringrift why ${name}'.`,
  letters: (consumer) => `See them with 'ringrift dlq --consumer ${consumer}'.`,
  resume_config: (config) => `Continue it: 'ringrift resume ${config}'.`,
  retry_config: (config) =>
    `See what failed, try by try: 'ringrift pipeline ${config} --history'. When you have fixed the cause: 'ringrift retry ${config}'.`,
  pipeline: (config) => `See its stage: 'ringrift pipeline ${config}'.`,
  history: (config) => `See what failed, try by try: 'ringrift pipeline ${config} --history'.`,
  add_worker: () =>
    "Start one here with 'ringrift worker', or join another machine: 'ringrift token create <label> --join' prints the command to run there.",
  show_node: (node) => `Look at it: 'ringrift nodes show ${node}'. It continues by itself when the reason is gone.`,
  node_health: (node) =>
    `See its checks: 'ringrift nodes health ${node}'. It gets work again when they pass; other nodes do its jobs until then.`,
  uncordon: (node) => `Give it work again: 'ringrift nodes uncordon ${node}'.`,
  free_disk: (node) =>
    `Free some space on the disk of ${node}; it then continues by itself. 'ringrift doctor' there shows more.`,
  unburden: (node) =>
    `Stop other programs on ${node}, or wait: it continues by itself. 'ringrift nodes show ${node}' shows more.`,
  show_job: (job) => `See what happened in its attempts: 'ringrift queue show ${job}'.`,
  retry_job: (job) => `See why: 'ringrift queue show ${job}'. Try it again: 'ringrift queue retry ${job}'.`,
  show_file: (file) => `See where it is: 'ringrift artifacts show ${file}'.`,
  alerts: () => "See them with 'ringrift alerts'.",
  health: () => "See the parts: 'ringrift health'.",
  audit: () => "Check the wiring: 'ringrift audit'.",
  doctor: () =>
    "Free some space, or make the data folder writable; it then continues by itself. 'ringrift doctor' shows details.",
  consumer: () => "Is the consumer connected and fast enough? 'ringrift status' shows how far behind it is.",
  dead_letters: () => "See the causes and what to do: 'ringrift dlq'.",
  ledger: () => "See what was rejected, and why: 'ringrift ledger'.",
};

/** Nothing where nothing is to be done, or where the process is newer than this program. */
export const adviceWords = (advice: Cause["advice"] | undefined): string => {
  const words = WORDS[advice?.action as CauseAdvice["action"]];
  return words === undefined ? "" : words(printable(advice!.subject));
};
