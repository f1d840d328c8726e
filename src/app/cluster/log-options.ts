import { defined } from "../../kernel/index.ts";
import type { Settings } from "../settings.ts";
import type { MemberThreadOptions } from "./messages.ts";

/** How many servers keep each entry. */
const REPLICAS = 3;
/** Short enough that a server that is gone costs a small part of a lease. */
const ANSWER_SHARE = 1 / 4;
const MAX_ANSWER_MS = 2_000;

export const logOptionsOf = ({ coordinators }: Pick<Settings, "coordinators">): MemberThreadOptions["log"] => {
  const { servers, monitors, stream, user, password, caFile, leaseMs } = coordinators;
  return {
    ...{ servers, monitors, stream, replicas: REPLICAS, answerMs: Math.min(MAX_ANSWER_MS, leaseMs * ANSWER_SHARE) },
    ...defined({
      user: user === undefined || password === undefined ? undefined : { name: user, password: password.reveal() },
      tls: caFile === undefined ? undefined : { caFile },
    }),
  };
};
