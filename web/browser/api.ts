/** Asks routes from a browser: the same as commands ask, typed by the same `wire.ts`. */
import { routeAddress } from "../../src/surfaces/http/route-address.ts";
import type { Answer, InputArgs, WireRoute } from "../../src/surfaces/http/wire.ts";
import { readTimes, type Times } from "../../src/surfaces/web/times.ts";

/** What the build leaves of a route. */
interface ThinRoute {
  readonly method: string;
  readonly path: string;
  readonly times?: Times;
}

/** A refusal as the process words it, or that nobody answered. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  constructor(problem: { status: number; code: string; detail: string; hint?: string; details?: object }) {
    super(problem.detail);
    this.status = problem.status;
    this.code = problem.code;
    this.hint = problem.hint;
    this.details = { ...problem.details };
  }
}

const unreachable = () =>
  new Refused({
    status: 0,
    code: "UNREACHABLE",
    detail: "The main process does not answer.",
    hint: "Is it running? 'ringrift status' tells. This page tries again by itself.",
  });

async function refusalOf(response: Response): Promise<Refused> {
  try {
    const { status, code, detail, hint, details } = await response.json();
    return new Refused({ status, code, detail, hint, details });
  } catch {
    return new Refused({ status: response.status, code: "UNEXPECTED_ANSWER", detail: "The answer is no JSON." });
  }
}

export interface Api {
  /** What a route answers, times in milliseconds. */
  call<W extends WireRoute>(route: W, ...args: [...InputArgs<W>, signal?: AbortSignal]): Promise<Answer<W>>;
  /** Milliseconds since the epoch, by the clock of the process: what it says happened is told by no other. */
  now(): number;
}

/** Where a route is asked, for a link to what a view shows. */
export const addressOf = <W extends WireRoute>(route: W, ...[input]: InputArgs<W>): string => {
  const { params, query } = (input ?? {}) as Record<string, Record<string, unknown>>;
  return routeAddress(route.path, params, query);
};

/** A clock that is off by less shows nothing wrong. */
const SKEW_MS = 2_000;

export function createApi(onDenied: (refused: Refused) => void): Api {
  let skew = 0;
  return {
    now: () => Date.now() + skew,
    async call(route, ...args) {
      const [input = {}, signal] = args as unknown as [Record<string, Record<string, unknown>>?, AbortSignal?];
      const { method, path, times } = route as unknown as ThinRoute;
      const isRead = method === "GET";
      const response = await fetch(routeAddress(path, input.params, input.query), {
        method,
        headers: { "x-ringrift-page": "1", ...(isRead ? {} : { "content-type": "application/json" }) },
        ...(isRead ? {} : { body: JSON.stringify(input.body ?? {}) }),
        ...(signal === undefined ? {} : { signal }),
      }).catch((thrown: unknown) => {
        if (signal?.aborted) throw thrown;
        throw unreachable();
      });
      const said = Date.parse(response.headers.get("date") ?? "");
      if (!Number.isNaN(said)) skew = Math.abs(said - Date.now()) > SKEW_MS ? said - Date.now() : 0;
      if (response.ok) return readTimes(times, await response.json()) as never;
      const refused = await refusalOf(response);
      if (refused.status === 401) onDenied(refused);
      throw refused;
    },
  };
}
