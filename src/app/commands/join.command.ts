import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { isOperatingError, messageOf, OperatingError, type Random, translateDiskFault } from "../../kernel/index.ts";
import { answer, printable, type Shell, wholeNumber } from "../../surfaces/commands/index.ts";
import { type Joined, joinOver, openLink } from "../../surfaces/index.ts";
import type { SettingOverrides, Settings } from "../settings.ts";
import { readVersion } from "../version.ts";
import { joinedNode, keepJoined, type NodeFile, nodeKeyIn, trustOf } from "../worker/node-identity.ts";
import { aboutNode, gpusOf } from "../worker/run-worker.ts";
import { serveWorker } from "../worker/serve-worker.ts";
import { isDiskFull } from "../worker/wait-for-room.ts";

interface JoinOptions {
  readonly label?: string;
  readonly ca?: string;
  readonly fingerprint?: string;
  readonly tokenFile?: string;
  readonly slots?: number;
  readonly run: boolean;
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const usage = (message: string, hint: string) => OperatingError.invalid("USAGE", message, { hint });

function addressOf(text: string, allowPlainHttp: boolean): URL {
  const url = URL.parse(text);
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.pathname !== "/" ||
    url.search !== "" ||
    url.username !== ""
  )
    throw usage(
      `'${printable(text)}' is not the address of a main process`,
      "An address looks like https://host:8770.",
    );
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname) && !allowPlainHttp)
    throw usage(
      "over plain HTTP the token could be read on the way",
      "Use https://, or set RINGRIFT_ALLOW_PLAIN_HTTP=true where something else protects the line.",
    );
  return url;
}

const read = (what: string, path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw usage(`${what} cannot be read: ${messageOf(cause)}`, "Check the path.");
  }
};

const fingerprintOf = (text: string): string => {
  const digits = text
    .replace(/^sha-?256[:=]/i, "")
    .replace(/[^0-9a-f]/gi, "")
    .toLowerCase();
  if (digits.length === 64) return digits;
  throw usage("--fingerprint is no SHA-256", "'openssl x509 -noout -fingerprint -sha256 -in cert.pem' prints it.");
};

/** What keeps a node out, with what to do about it. */
function explain(thrown: unknown, url: URL): unknown {
  if (!isOperatingError(thrown)) return thrown;
  const cause = messageOf(thrown.cause ?? "");
  const isTrust = /certificate|self.signed|issuer|altname/i.test(`${thrown.message} ${cause}`);
  if (thrown.code === "UNREACHABLE" && isTrust)
    return OperatingError.denied(
      "UNTRUSTED_CERTIFICATE",
      `the certificate of ${url.host} is not trusted: ${thrown.message}`,
      {
        cause: thrown,
        hint: "Give the CA file with --ca, or the SHA-256 of the certificate with --fingerprint.",
      },
    );
  if (thrown.code === "UNAUTHORIZED" || thrown.code === "SCOPE_TOO_SMALL" || thrown.code === "FORBIDDEN")
    return new OperatingError(thrown.kind, thrown.code, `${url.host} does not take this token: ${thrown.message}`, {
      cause: thrown,
      hint: "On the main process, 'ringrift token create box-7 --join' prints the line to run here.",
    });
  return thrown;
}

function tell(made: Joined, url: URL, shell: Shell): void {
  const { node_id, label, protocol, deprecated } = made;
  const joined = { status: "joined", node_id, label, url: url.origin, protocol, deprecated };
  answer(shell, joined, () => `joined ${url.origin} as ${printable(label)} (${node_id})`);
  if (deprecated) shell.note("note: this version is behind that of the main process; it works, but update it soon");
}

export function registerJoin(
  command: Command,
  shell: Shell,
  random: Random,
  readSettings: (given: SettingOverrides) => Settings,
): void {
  command
    .argument("<url>", "address of the main process, such as https://host:8770")
    .argument("[token]", "a join token, or one with the scope worker; not needed again after this folder has joined")
    .option("--token-file <file>", "file with the token, because other users of this machine can see the command line")
    .option("--label <name>", "name of this node; default: the host name")
    .option("--ca <file>", "PEM file with the certificates to trust, instead of those of the system")
    .option("--fingerprint <sha256>", "SHA-256 of the only certificate to trust, if it is self-signed")
    .option("--slots <n>", "jobs at once; default: RINGRIFT_WORKER_SLOTS", wholeNumber("--slots", 1, 1_024))
    .option("--no-run", "only join; run 'ringrift worker' later to do jobs")
    .action(async (address: string, given: string | undefined, options: JoinOptions) => {
      const settings = readSettings({ worker: { slots: options.slots } });
      const { dataDir } = settings;
      if (existsSync(join(dataDir, "coordination.db")))
        throw OperatingError.conflict("FOLDER_IN_USE", `${dataDir} is the folder of a main process, not of a node`, {
          hint: "Choose another folder with --data-dir or RINGRIFT_DATA_DIR.",
        });
      const url = addressOf(address, settings.api.allowPlainHttp);
      const token =
        given ?? (options.tokenFile === undefined ? undefined : read("--token-file", options.tokenFile).trim());
      const before = joinedNode(dataDir);
      if (token !== undefined) {
        const trust = trustOf({
          ca: options.ca === undefined ? undefined : read("--ca", options.ca),
          fingerprint: options.fingerprint === undefined ? undefined : fingerprintOf(options.fingerprint),
        });
        const key = nodeKeyIn(dataDir);
        const link = openLink({ target: { url, trust }, clock: shell.clock, token });
        try {
          const made = await joinOver(link, {
            public_key: key.publicKey,
            label: options.label ?? hostname(),
            version: readVersion(),
            capabilities: aboutNode(settings.worker, await gpusOf(settings.worker, shell.io.env)),
          });
          if (made.node_id !== key.nodeId)
            throw OperatingError.internal(
              "UNEXPECTED_ANSWER",
              `the main process calls this node ${printable(made.node_id)}`,
              {
                hint: "It is not a RingRift process, or has another version.",
              },
            );
          const node: NodeFile = {
            node_id: made.node_id,
            label: made.label,
            url: url.origin,
            ...trust,
            joined_at: shell.clock.now() / 1_000,
          };
          try {
            keepJoined(dataDir, node);
          } catch (thrown) {
            // A node that is back with a full disk has said where it joined before; its worker tells of the disk.
            if (before?.url !== url.origin || !isDiskFull(thrown)) throw translateDiskFault(thrown);
          }
          tell(made, url, shell);
        } catch (thrown) {
          const why = explain(thrown, url);
          // A service that starts again with the line it has joined by must not end because the other side is busy or away.
          const waits = options.run && before?.url === url.origin && isOperatingError(why) && why.retryable;
          if (!waits) throw why;
          const how = why.code === "UNREACHABLE" ? "does not answer" : `cannot answer now: ${printable(why.message)}`;
          shell.note(`${url.origin} ${how}; this folder has joined it before, and waits for it`);
        } finally {
          link.close();
        }
      } else if (before === undefined)
        throw usage(
          "a token is needed to join",
          "On the main process, 'ringrift token create box-7 --join' prints the line to run here.",
        );
      else if (before.url !== url.origin)
        throw usage(`this folder has joined ${before.url}`, "Give a token to join another main process.");
      else if (!shell.json) shell.say(`joined ${before.url} already as ${printable(before.label)} (${before.node_id})`);
      if (options.run) await serveWorker(settings, shell, random, {});
    });
}
