/** What stands between a file and its safety: the verdict on it, its copies, and who brings more of them. */
import { type Cause, causeOf } from "../../daemons/index.ts";
import { isOperatingError } from "../../kernel/index.ts";
import { plural, bytes as size } from "../../surfaces/commands/index.ts";
import type { Why } from "../../surfaces/index.ts";
import type { ArtifactConsole } from "../../sync/index.ts";

type Gate = Why["gates"][number];
type File = ReturnType<ArtifactConsole["show"]>;
type Transfer = ReturnType<ArtifactConsole["transfersOf"]>[number];

/** A hash or the start of one, or a game in the file of that hash. */
const FILE = /^([0-9a-f]{6,64})(?:#\d{1,15})?$/;

const gate = (name: string, passed: boolean, actual: string, required: string, more: Partial<Gate> = {}): Gate => ({
  gate: name,
  passed,
  actual,
  required,
  since: null,
  hint: null,
  ...more,
});

const shortName = ({ kind, sha256 }: File): string => `${kind} ${sha256.slice(0, 12)}`;

const verdictGate = ({ state, reason, created_at, freed_at }: File): Gate => {
  const because = reason === null ? "" : `: ${reason}`;
  switch (state) {
    case "durable":
      return gate("verdict", true, "judged good", "judged good");
    case "in_flight":
      return gate("verdict", false, "its checks are not done", "judged good", { in_progress: true, since: created_at });
    case "freed":
      return gate("verdict", true, "removed: nothing needed it any more", "any", { since: freed_at });
    case "rejected":
      return gate("verdict", false, `rejected${because}`, "judged good", {
        hint: "'ringrift ledger' shows what was rejected, and why.",
      });
    default:
      return gate("verdict", false, `its file is damaged or lost${because}`, "judged good", {
        hint: "It is fetched from another copy, or its job makes it again. 'ringrift artifacts show' tells who holds it.",
      });
  }
};

const copiesGate = ({ copies, required, factor, safe }: File): Gate => {
  const wished = factor > required ? `; the settings ask for ${factor}, and there are too few nodes` : "";
  return gate("copies", safe, `${copies} of ${required}${wished}`, `${required} on nodes to rely on`);
};

/** Copies that do not count matter where too few others are left. */
const holderGates = ({ holders, safe }: File): Gate[] =>
  holders.map(({ name, counts, why, verified_at }) =>
    gate(`copy on ${name}`, counts || safe, counts ? "it counts" : `it does not count: ${why}`, "a copy that counts", {
      since: verified_at,
    }),
  );

const transferGates = (transfers: readonly Transfer[]): Gate[] =>
  transfers.map(({ node_id, action, state, attempts, bytes, bytes_done, error, created_at }) => {
    const where = action === "fetch" ? `to ${node_id}` : `home from ${node_id}`;
    const tried = error === null ? "" : `; attempt ${attempts} failed: ${error}`;
    const actual = `${where}: ${state}, ${size(bytes_done)} of ${size(bytes)}${tried}`;
    return gate("transfer", false, actual, "arrived", {
      in_progress: error === null,
      since: created_at,
      hint: "'ringrift sync deliveries' shows each try.",
    });
  });

const needGate = ({ pins }: File): Gate =>
  gate("needed", true, pins.length === 0 ? "by nothing" : `by ${pins.join(", ")}`, "any");

/** What is wrong with a file, if anything is: first what it is, then where it is. */
function causeOfFile(file: File, transfers: readonly Transfer[]): Cause | null {
  const { state, sha256, reason, copies, required, safe, at_risk } = file;
  const subject = sha256.slice(0, 12);
  const name = shortName(file);
  const advice = { action: "show_file", subject } as const;
  if (state === "freed") return null;
  if (state === "quarantined")
    return causeOf("warn", "file_damaged", subject, `${name} is damaged or lost: ${reason ?? "its bytes are wrong"}`, {
      required: "the bytes of its hash",
      advice,
    });
  if (state === "rejected")
    return causeOf("warn", "file_rejected", subject, `${name} was rejected: ${reason ?? "it was judged bad"}`, {
      required: "judged good",
      advice: { action: "ledger", subject },
    });
  if (at_risk)
    return causeOf("warn", "file_at_risk", subject, `${name} is only on nodes that are rented or being drained`, {
      actual: copies,
      required,
      advice,
    });
  if (!safe) {
    const isComing = transfers.some(({ error }) => error === null);
    const what = `${name} has ${copies} of ${plural(required, "copy", "copies")}`;
    return causeOf(isComing ? "note" : "warn", "file_short_of_copies", subject, what, {
      actual: copies,
      required,
      advice,
    });
  }
  return state === "in_flight" ? causeOf("note", "file_unjudged", subject, `the checks of ${name} are not done`) : null;
}

const verdictOf = (file: File, cause: Cause | null): string => {
  if (cause !== null) return cause.what;
  const name = shortName(file);
  return file.state === "freed"
    ? `${name} was removed: nothing needed it any more`
    : `${name} is safe: ${file.copies} of ${plural(file.required, "copy", "copies")}`;
};

export function reportOnFile(file: File, transfers: readonly Transfer[]): Why {
  const cause = causeOfFile(file, transfers);
  const isKept = file.state !== "freed";
  return {
    subject: file.sha256,
    label: file.sha256.slice(0, 12),
    kind: file.kind,
    verdict: verdictOf(file, cause),
    since: file.freed_at ?? file.created_at,
    cause,
    gates: [
      verdictGate(file),
      ...(isKept ? [copiesGate(file), ...holderGates(file), ...transferGates(transfers), needGate(file)] : []),
    ],
  };
}

/** The answer for a file by its hash; undefined for what is none. */
export function whyFile(subject: string, library: Pick<ArtifactConsole, "show" | "transfersOf">): Why | undefined {
  const [, hash] = FILE.exec(subject) ?? [];
  if (hash === undefined) return undefined;
  try {
    const file = library.show(hash);
    return reportOnFile(file, library.transfersOf(file));
  } catch (thrown) {
    if (isOperatingError(thrown, "ARTIFACT_NOT_FOUND")) return undefined;
    throw thrown;
  }
}
