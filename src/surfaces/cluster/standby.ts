/**
 * What a coordinator answers while another leads: probes, the cluster as it sees it, and for everything else where the leader is. It is no
 * redirect: what nodes sign names the process that they speak to, and a token must not follow an address that somebody gave.
 */
import type { ClusterView } from "../../cluster/index.ts";
import { createIds, type Edges, isOperatingError, messageOf, OperatingError } from "../../kernel/index.ts";
import type { ArtifactStore } from "../../sync/index.ts";
import { answerFile } from "../artifacts/routes.ts";
import { getArtifact } from "../artifacts/wire.ts";
import type { Access } from "../http/access.ts";
import { encoderOf } from "../http/encode.ts";
import { PROBLEM_TYPE, problemOf } from "../http/problem.ts";
import { type Env, requestIdOf } from "../http/request.ts";
import { shutDown } from "../system/wire.ts";
import { shownCluster } from "./routes.ts";
import { standbyPage } from "./standby-page.ts";
import { getCluster } from "./wire.ts";

export interface StandbyOptions extends Edges {
  readonly view: () => ClusterView | undefined;
  readonly access: Access;
  /** After so long somebody leads again, as a rule. */
  readonly retryAfterSeconds: number;
  readonly shutdown: (reason: string, actor: string) => void;
  /** What lies here, for the other coordinators: one that leads may lack it. */
  readonly files: () => Pick<ArtifactStore, "stat" | "read"> | undefined;
}

/** Says who leads, to people and to programs that follow. */
function notLeader(view: ClusterView | undefined, retryAfterSeconds: number): OperatingError {
  const leader = view === undefined || view.leader?.name === view.name ? null : view.leader;
  return OperatingError.unavailable(
    "NOT_LEADER",
    leader === null
      ? "no coordinator leads at the moment"
      : `this coordinator stands by; ${leader.name} leads at ${leader.url}`,
    {
      showsDetails: true,
      details: {
        leader: leader && { name: leader.name, url: leader.url, fingerprint: leader.fingerprint },
        term: view?.term ?? 0,
        retry_after_seconds: leader === null ? retryAfterSeconds : 0,
        retryAfterSeconds: leader === null ? retryAfterSeconds : 1,
      },
      hint:
        leader === null
          ? "Ask again soon. 'ringrift cluster status' shows why nobody leads."
          : `Ask ${leader.url}. Clients that know several addresses do so by themselves.`,
    },
  );
}

const probes: Readonly<Record<string, "alive" | "ready">> = {
  "/livez": "alive",
  "/healthz": "alive",
  "/startupz": "alive",
  "/readyz": "ready",
};

export function createStandbyApi(options: StandbyOptions) {
  const { view, access, clock, random, log, retryAfterSeconds } = options;
  const ids = createIds(clock, random);
  const encode = encoderOf(getCluster.answer);

  const probe = (kind: "alive" | "ready"): Response => {
    const seen = view();
    const message =
      seen?.leader == null
        ? "it stands by, and nobody leads"
        : `it stands by; ${seen.leader.name} leads at ${seen.leader.url}`;
    const checks = [
      { name: "main_loop", ok: true, message: "" },
      ...(kind === "ready" ? [{ name: "leads", ok: false, message }] : []),
    ];
    const ok = kind === "alive";
    return Response.json({ status: ok ? "ok" : "failing", checks }, { status: ok ? 200 : 503 });
  };

  const respond = (request: Request, env: Env["Bindings"]): Response | Promise<Response> => {
    const { pathname } = new URL(request.url);
    const isRead = request.method === "GET" || request.method === "HEAD";
    const asked = isRead ? probes[pathname] : undefined;
    if (asked !== undefined) {
      access.check(env.incoming, env.cameBy, { scope: "probe", method: "GET", id: "", path: "" });
      return probe(asked);
    }
    if (isRead && pathname === getCluster.path) {
      access.check(env.incoming, env.cameBy, getCluster);
      const seen = view();
      if (seen === undefined) throw OperatingError.unavailable("STARTING", "the process is still starting");
      const answer = shownCluster(seen);
      return Response.json(encode?.(answer) ?? answer);
    }
    if (request.method === shutDown.method && pathname === shutDown.path) {
      const { actor } = access.check(env.incoming, env.cameBy, shutDown);
      options.shutdown("asked for through the API", actor);
      return Response.json({ status: "stopping" }, { status: 202 });
    }
    const [, sha256] = /^\/v1\/artifacts\/([0-9a-f]{64})$/.exec(pathname) ?? [];
    const files = options.files();
    if (isRead && sha256 !== undefined && files !== undefined && request.headers.has("authorization")) {
      access.check(env.incoming, env.cameBy, { ...getArtifact, scope: "operator" });
      const range = request.headers.get("range") ?? undefined;
      return answerFile(files, { sha256, range, method: request.method });
    }
    // Everybody may know where the leader is, who could not show here who it is.
    access.check(env.incoming, env.cameBy, { scope: "probe", method: "GET", id: "", path: "" });
    if (isRead && !pathname.startsWith("/v1/") && request.headers.get("accept")?.includes("text/html"))
      return standbyPage(view());
    throw notLeader(view(), retryAfterSeconds);
  };

  return async (request: Request, env: Env["Bindings"]): Promise<Response> => {
    const requestId = requestIdOf(request.headers.get("x-request-id") ?? undefined, () => ids.uuid());
    let response: Response;
    try {
      response = await respond(request, env);
    } catch (thrown) {
      if (!isOperatingError(thrown)) log.error("a request failed", { request_id: requestId, error: messageOf(thrown) });
      const problem = problemOf(thrown, requestId);
      const after = isOperatingError(thrown) ? thrown.details.retryAfterSeconds : undefined;
      response = Response.json(problem, {
        status: problem.status,
        headers: {
          "content-type": PROBLEM_TYPE,
          ...(typeof after === "number" ? { "retry-after": String(after) } : {}),
          // The next request may find another who answers here.
          connection: "close",
        },
      });
    }
    response.headers.set("x-request-id", requestId);
    response.headers.set("cache-control", "no-store");
    response.headers.set("x-content-type-options", "nosniff");
    return response;
  };
}
