/**
 * Hosts on one machine: network namespaces on a bridge, each with an address of its own, which can be cut off in either direction.
 * They share the disk and the processes. Only root may make them; elsewhere that is said aloud.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { hasProgram, unpackedPackages } from "./debian-programs.ts";

export interface Host {
  readonly address: string;
  /** The arguments before a program that make it run on this host. */
  readonly enter: readonly string[];
  /** Drops what comes in, or what goes out; with a port only what is for that port. */
  cut(way: "in" | "out" | "both", port?: number): void;
  /** Drops what comes from one other host and what goes to it. */
  cutFrom(other: Pick<Host, "address">): void;
  /** Takes no connection from outside, as behind a router; what it dials itself works. */
  hide(): void;
  heal(): void;
}

interface Iptables {
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
}

/** On the path, or from Debian's packages in a private folder. */
function findIptables(): Iptables | undefined {
  if (hasProgram("iptables")) return { program: "iptables", env: process.env };
  const program = "usr/sbin/xtables-legacy-multi";
  const libraries = "libxtables12 libip4tc2 libip6tc2 libnetfilter-conntrack3 libnfnetlink0 libnftnl11 libmnl0".split(
    " ",
  );
  const folder = unpackedPackages("iptables", ["iptables", ...libraries], program);
  if (folder === undefined) return undefined;
  const folders = ["usr/lib", "lib"].map((lib) =>
    join(folder, lib, `${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`),
  );
  const env = { ...process.env, LD_LIBRARY_PATH: folders.join(":"), XTABLES_LIBDIR: join(folders[0]!, "xtables") };
  return { program: join(folder, "usr/sbin/iptables-legacy"), env };
}

const ip = (...args: string[]) => void execFileSync("ip", args, { stdio: "pipe" });

/** How a program is started on a host. */
export const startedOn = ({ enter: [program = "", ...args] }: Host, ...before: readonly string[]) => ({
  execPath: program,
  execArgv: [...args, ...before],
});

/** Undefined, loudly, where they cannot be made. `name` keeps those of two runs apart: at most five letters. */
export function hostsOnABridge(name: string, count: number, atEnd: (undo: () => void) => void): Host[] | undefined {
  const spaces = [`${name}sw`, ...Array.from({ length: count }, (_, i) => `${name}h${i + 1}`)];
  const iptables = findIptables();
  if (iptables === undefined || spawnSync("ip", ["netns", "add", spaces[0]!]).status !== 0) {
    if (process.env.CI === "true") throw new Error("no network namespaces can be made here");
    console.warn("SKIPPED: no network namespaces can be made here, so hosts that are cut off were not tried");
    return undefined;
  }
  atEnd(() => {
    for (const space of spaces) spawnSync("ip", ["netns", "del", space]);
  });
  const bridge = spaces[0]!;
  ip("-n", bridge, "link", "add", "br0", "type", "bridge");
  ip("-n", bridge, "link", "set", "br0", "up");
  return spaces.slice(1).map((space, i) => {
    const address = `10.233.0.${i + 1}`;
    ip("netns", "add", space);
    ip("-n", space, "link", "set", "lo", "up");
    ip("link", "add", "eth0", "netns", space, "type", "veth", "peer", "name", `p${i}`, "netns", bridge);
    ip("-n", bridge, "link", "set", `p${i}`, "master", "br0", "up");
    ip("-n", space, "addr", "add", `${address}/24`, "dev", "eth0");
    ip("-n", space, "link", "set", "eth0", "up");
    const enter = ["ip", "netns", "exec", space];
    const rule = (...args: string[]) =>
      void execFileSync(enter[0]!, [...enter.slice(1), iptables.program, "-w", ...args], {
        stdio: "pipe",
        env: iptables.env,
      });
    return {
      address,
      enter,
      cut(way, port) {
        const of = (side: "--dport" | "--sport") => (port === undefined ? [] : ["-p", "tcp", side, String(port)]);
        if (way !== "out") rule("-I", "INPUT", "-i", "eth0", ...of("--dport"), "-j", "DROP");
        if (way !== "in") rule("-I", "OUTPUT", "-o", "eth0", ...of("--sport"), "-j", "DROP");
      },
      cutFrom(other) {
        rule("-I", "INPUT", "-s", other.address, "-j", "DROP");
        rule("-I", "OUTPUT", "-d", other.address, "-j", "DROP");
      },
      hide() {
        rule("-I", "INPUT", "-i", "eth0", "-m", "state", "--state", "NEW", "-j", "DROP");
      },
      heal() {
        rule("-F");
      },
    };
  });
}
