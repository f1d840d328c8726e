/** Makes what three servers need to trust each other: a secret, an authority of their own, and a certificate for each. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeFolders, messageOf, OperatingError } from "../../../kernel/index.ts";
import { writeWhole } from "../../data-folder/token.ts";
import { type Engine, type EnginePeer, engineFile, engineFolder } from "./engine-file.ts";

const DAYS = "3650";
const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function openssl(args: readonly string[]): void {
  try {
    execFileSync("openssl", [...args], { stdio: "pipe" });
  } catch (cause) {
    throw OperatingError.unavailable("NO_OPENSSL", `openssl made no certificate: ${messageOf(cause)}`, {
      cause,
      hint: "Install openssl on this machine ('apt-get install openssl'); the others do not need it.",
    });
  }
}

function certificates(peers: readonly EnginePeer[]) {
  const work = mkdtempSync(join(tmpdir(), "ringrift-engine-"));
  const at = (name: string) => join(work, name);
  const read = (name: string) => readFileSync(at(name), "utf8");
  try {
    const authority = ["-subj", "/CN=ringrift engine", "-keyout", at("ca.key"), "-out", at("ca.pem")];
    openssl(["req", "-x509", ...KEY, "-days", DAYS, ...authority]);
    const made = peers.map(({ name, host }) => {
      const place = isIP(host) === 0 ? `DNS:${host}` : `IP:${host}`;
      writeFileSync(
        at("ext"),
        `subjectAltName=${place},IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n`,
      );
      openssl(["req", "-new", ...KEY, "-subj", `/CN=${name}`, "-keyout", at("key"), "-out", at("csr")]);
      const signing = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-extfile", at("ext")];
      openssl(["x509", "-req", "-in", at("csr"), ...signing, "-days", DAYS, "-out", at("cert")]);
      return { name, cert: read("cert"), key: read("key") };
    });
    return { ca: read("ca.pem"), made };
  } finally {
    // The key of the authority goes with it: nobody signs for this cluster any more.
    rmSync(work, { recursive: true, force: true });
  }
}

export interface MadeEngine {
  readonly name: string;
  readonly peers: readonly string[];
  /** What is copied to each of the others, as its `engine/engine.json`. */
  readonly files: Readonly<Record<string, string>>;
  readonly applied: boolean;
}

export function makeEngine(dataDir: string, own: string, peers: readonly EnginePeer[], isDry: boolean): MadeEngine {
  const names = peers.map(({ name }) => name);
  if (!names.includes(own))
    throw OperatingError.invalid("USAGE", `this machine is '${own}', and none of ${names.join(", ")}`, {
      hint: "Use the names that the coordinators have: RINGRIFT_NODE_ID, by default the host name.",
    });
  if (existsSync(engineFile(dataDir)))
    throw OperatingError.conflict("ENGINE_EXISTS", `${engineFile(dataDir)} exists already`, {
      hint: "Other machines may use its secret. Remove it only if none of them does.",
    });
  const folder = engineFolder(dataDir);
  const pathOf = (name: string) => (name === own ? engineFile(dataDir) : join(folder, `engine-${name}.json`));
  const files = Object.fromEntries(names.filter((name) => name !== own).map((name) => [name, pathOf(name)]));
  const answer = { name: own, peers: names, files };
  if (isDry) return { ...answer, applied: false };
  const { ca, made } = certificates(peers);
  const secret = randomBytes(32).toString("hex");
  makeFolders(folder);
  for (const { name, cert, key } of made) {
    const engine: Engine = {
      ...{ format: "ringrift-engine-1", name, peers: [...peers], secret, ca, cert, key },
    };
    writeWhole(pathOf(name), `${JSON.stringify(engine)}\n`);
  }
  return { ...answer, applied: true };
}
