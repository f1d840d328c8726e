import { defined } from "../../kernel/index.ts";
import type { Settings } from "../settings.ts";
import { engineFolder, engineLog, readEngine } from "./engine/engine-file.ts";
import type { MemberThreadOptions } from "./messages.ts";

/** How many servers keep each entry. */
const REPLICAS = 3;
/** Short enough that a server that is gone costs a small part of a lease. */
const ANSWER_SHARE = 1 / 4;
const MAX_ANSWER_MS = 2_000;

/** The servers that are named, or those that coordinators run by themselves. */
export const logOptionsOf = ({
  coordinators,
  dataDir,
}: Pick<Settings, "coordinators" | "dataDir">): MemberThreadOptions["log"] => {
  const { servers, monitors, stream, user, password, caFile, leaseMs } = coordinators;
  const shared = { stream, replicas: REPLICAS, answerMs: Math.min(MAX_ANSWER_MS, leaseMs * ANSWER_SHARE) };
  const engine = servers.length > 0 ? undefined : readEngine(dataDir);
  if (engine !== undefined) return { ...shared, ...engineLog(engine, engineFolder(dataDir)) };
  return {
    ...{ ...shared, servers, monitors },
    ...defined({
      user: user === undefined || password === undefined ? undefined : { name: user, password: password.reveal() },
      tls: caFile === undefined ? undefined : { caFile },
    }),
  };
};
