/** The hosts of a deployment, as their operator writes them down. Everything in it is checked before anything is done with it. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { lazy, messageOf, OperatingError } from "../../kernel/index.ts";

const MAX_HOSTS = 500;
const MAX_FILE_BYTES = 1_048_576;
const folder = z
  .string()
  .regex(/^(\/[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*){1,20}$/, "must be an absolute path of letters, digits and . _ @ + -")
  .max(200);
const host = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,252}$/, "must be a host name or an address");
const user = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/, "must be the name of a user");
const label = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/, "must be 1 to 100 letters, digits or . _ -");
const tag = z.string().regex(/^[\w.:+-]{1,64}$/, "must be 1 to 64 letters, digits or . : + - _");
const file = z.string().min(1).max(1_000);
const port = z.int().min(1).max(65_535);

const inventorySchema = lazy(() =>
  z.strictObject({
    ssh: z.strictObject({ identity_file: file, known_hosts_file: file, user: user.optional(), port: port.optional() }),
    folder: folder.default("/opt/ringrift-node"),
    canaries: z.int().min(1).max(MAX_HOSTS).default(1),
    hosts: z
      .array(
        z.strictObject({
          host,
          label: label.optional(),
          user: user.optional(),
          port: port.optional(),
          folder: folder.optional(),
          slots: z.int().min(1).max(1_024).optional(),
          tags: z.array(tag).max(32).default([]),
        }),
      )
      .min(1)
      .max(MAX_HOSTS),
  }),
);

export interface DeployHost {
  readonly host: string;
  readonly label: string;
  readonly user: string | undefined;
  readonly port: number | undefined;
  readonly folder: string;
  readonly slots: number | undefined;
  readonly tags: readonly string[];
  readonly identityFile: string;
  readonly knownHostsFile: string;
}

export interface Inventory {
  readonly hosts: readonly DeployHost[];
  /** So many of them try a new program first. */
  readonly canaries: number;
}

const wrong = (path: string, what: string) =>
  OperatingError.invalid("INVENTORY_INVALID", `${path} is no inventory: ${what}`, {
    hint: "docs/46-ssh.md shows one.",
  });

/** Paths of key files are meant from the folder of the inventory. */
export function readInventory(path: string): Inventory {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw wrong(path, messageOf(cause));
  }
  if (text.length > MAX_FILE_BYTES) throw wrong(path, "it is larger than 1 MB");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw wrong(path, messageOf(cause));
  }
  const parsed = inventorySchema().safeParse(json);
  if (!parsed.success) throw wrong(path, z.prettifyError(parsed.error));
  const { ssh, hosts, canaries, folder: everywhere } = parsed.data;
  const at = (name: string) => resolve(dirname(resolve(path)), name);
  const all = hosts.map((each) => ({
    host: each.host,
    label: each.label ?? each.host.replaceAll(":", "-"),
    user: each.user ?? ssh.user,
    port: each.port ?? ssh.port,
    folder: each.folder ?? everywhere,
    slots: each.slots,
    tags: each.tags,
    identityFile: at(ssh.identity_file),
    knownHostsFile: at(ssh.known_hosts_file),
  }));
  for (const nameOf of [
    (each: DeployHost) => each.label,
    (each: DeployHost) => `${each.host} ${each.port} ${each.folder}`,
  ]) {
    const seen = new Set<string>();
    for (const each of all) {
      if (seen.has(nameOf(each))) throw wrong(path, `two hosts are ${nameOf(each)}`);
      seen.add(nameOf(each));
    }
  }
  return { hosts: all, canaries };
}
