import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, type Log, messageOf, OperatingError, sayWhich } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import {
  addToken,
  MAX_SPENT_TOKENS,
  revokeToken,
  type TokenKind,
  type TokenRow,
  takeJoinPlace,
  touchToken,
} from "../tables.ts";
import type { TokenScope } from "./scope.ts";

/** A token without what could open anything. */
export type TokenView = Omit<TokenRow, "hash" | "revoked_by"> & { readonly status: "active" | "expired" | "revoked" };

export interface NewToken {
  readonly label: string;
  readonly scope: TokenScope;
  readonly expiresInSeconds?: number | undefined;
  /** It only lets so many nodes join; a worker's token of its whole scope unless given. */
  readonly joinUses?: number | undefined;
  /** A token for programs unless given. */
  readonly kind?: TokenKind;
  /** Of a share: the start of the addresses that it shows. */
  readonly path?: string;
}

/** What a good token says about who bears it. */
export interface Bearer {
  readonly id: string;
  readonly label: string;
  readonly scope: TokenScope;
  /** Milliseconds since the epoch; null for one that lasts. */
  readonly expiresAt: number | null;
  /** It lets nodes join and nothing else. */
  readonly onlyJoins: boolean;
  readonly kind: TokenKind;
  readonly path: string | null;
}

export interface Tokens {
  /** Who bears this text; undefined when it opens nothing (any more). Takes the same time for every wrong secret. */
  verify(text: string): Bearer | undefined;
  /** The secret is in the answer and nowhere else, ever. */
  issue(wanted: NewToken, actor: string): Promise<TokenView & { readonly token: string }>;
  /** Takes one of the uses of a token for a node, or refuses; a node that joins again takes none. */
  useToJoin(id: string, nodeId: string): Promise<void>;
  /** Uses up a code: true for the first who comes with it, and only then. */
  spend(id: string, actor: string): Promise<boolean>;
  /** By its id, the start of it, or a label that only one has. Ends what is open under it, too. */
  revoke(given: string, actor: string): Promise<TokenView>;
  /** Whether a token of this id still opens anything. */
  isActive(id: string): boolean;
  list(): TokenView[];
  /** Tells ids that no longer open anything. Returns how to stop. */
  onRevoked(listen: (id: string) => void): () => void;
}

const SHAPE = /^rrt_([0-9a-f]{16})_([\w-]{43})$/;
const SHORT = /^[0-9a-f]{6,16}$/;
const MAX_ACTIVE = 1_000;
/** When a token was used last is worth a write no more often than this. */
const TOUCH_EVERY_MS = 60_000;

const digest = (text: string): Buffer => hash("sha256", text, "buffer");
const NOBODY = digest("nobody");

/** Tokens of 256 bits, of which the store knows hashes; all of them are in memory, so that asking costs no query. */
export function createTokens(store: Store, clock: Clock, log: Log): Tokens {
  const rows = new Map(store.read<TokenRow>("SELECT * FROM api_tokens").map((row) => [row.id, row]));
  /** When the use of each was written down last. */
  const touchedAt = new Map([...rows.values()].map(({ id, last_used_at }) => [id, last_used_at ?? 0]));
  const listeners = new Set<(id: string) => void>();
  /** Codes that are being used up. */
  const spending = new Set<string>();
  const statusOf = ({ revoked_at, expires_at }: TokenRow): TokenView["status"] => {
    if (revoked_at !== null) return "revoked";
    return expires_at !== null && expires_at <= clock.now() ? "expired" : "active";
  };
  const viewOf = (row: TokenRow): TokenView => {
    const { hash: _, revoked_by: _by, ...view } = row;
    return { ...view, status: statusOf(row) };
  };
  /** The store forgets the oldest of those that open nothing; so do we. */
  const forgetSpent = () => {
    const spent = [...rows.values()].filter((row) => statusOf(row) !== "active");
    const endOf = (row: TokenRow) => row.revoked_at ?? row.expires_at ?? 0;
    for (const { id } of spent.sort((a, b) => endOf(b) - endOf(a)).slice(MAX_SPENT_TOKENS)) rows.delete(id);
  };
  /** The token that is meant. */
  const meant = (given: string): TokenRow => {
    const known = rows.get(given);
    if (known !== undefined) return known;
    const active = [...rows.values()].filter((row) => statusOf(row) === "active");
    const begun = SHORT.test(given) ? active.filter(({ id }) => id.startsWith(given)) : [];
    const found = begun.length > 0 ? begun : active.filter(({ label }) => label === given);
    if (found.length > 1)
      throw OperatingError.conflict("TOKEN_AMBIGUOUS", `${found.length} tokens are called '${given}'`, {
        hint: sayWhich(found.map(({ id }) => id)),
      });
    if (found[0] !== undefined) return found[0];
    throw OperatingError.notFound("TOKEN_NOT_FOUND", `there is no token '${given}'`, {
      hint: "'ringrift token list' lists them.",
    });
  };
  const touch = (row: TokenRow) => {
    const { id } = row;
    const at = clock.now();
    rows.set(id, { ...row, last_used_at: at });
    if (at - (touchedAt.get(id) ?? 0) < TOUCH_EVERY_MS) return;
    touchedAt.set(id, at);
    store
      .commit([touchToken({ id, at })])
      .catch((thrown: unknown) =>
        log.warn("the use of a token was not stored", { error: messageOf(thrown), token_id: id }),
      );
  };
  return {
    verify(text) {
      const [, id = "", secret = ""] = SHAPE.exec(text) ?? [];
      const row = rows.get(id);
      const matches = timingSafeEqual(digest(secret), row === undefined ? NOBODY : Buffer.from(row.hash, "hex"));
      if (row === undefined || !matches || statusOf(row) !== "active") return undefined;
      touch(row);
      const { label, scope, expires_at: expiresAt, join_uses, kind, path } = row;
      return { id, label, scope, expiresAt, onlyJoins: join_uses !== null, kind, path };
    },
    async issue({ label, scope, expiresInSeconds, joinUses, kind = "token", path }, actor) {
      if ([...rows.values()].filter((row) => statusOf(row) === "active").length >= MAX_ACTIVE)
        throw OperatingError.conflict("TOO_MANY_TOKENS", `there are ${MAX_ACTIVE} tokens`, {
          hint: "Revoke unused tokens: GET /v1/tokens shows when each was last used.",
        });
      const id = randomBytes(8).toString("hex");
      const secret = randomBytes(32).toString("base64url");
      const at = clock.now();
      const row: TokenRow = {
        id,
        label,
        scope,
        hash: digest(secret).toString("hex"),
        created_at: at,
        created_by: actor,
        expires_at: expiresInSeconds === undefined ? null : at + expiresInSeconds * 1_000,
        revoked_at: null,
        revoked_by: null,
        last_used_at: null,
        join_uses: joinUses ?? null,
        kind,
        path: path ?? null,
      };
      await store.commit([addToken(row)]);
      rows.set(id, row);
      forgetSpent();
      return { ...viewOf(row), token: `rrt_${id}_${secret}` };
    },
    async useToJoin(id, nodeId) {
      const max = rows.get(id)?.join_uses ?? null;
      if (max === null) return;
      const [isTaken] = await store.commit([takeJoinPlace({ id, nodeId, at: clock.now(), max })]);
      if (!isTaken)
        throw OperatingError.denied("TOKEN_USED_UP", `this token let ${max} join, which is its limit`, {
          hint: "Make another: 'ringrift token create <label> --join'.",
        });
    },
    async spend(id, actor) {
      if (spending.has(id) || rows.get(id)?.revoked_at !== null) return false;
      spending.add(id);
      try {
        await this.revoke(id, actor);
        return true;
      } finally {
        spending.delete(id);
      }
    },
    async revoke(given, actor) {
      const row = meant(given);
      const { id } = row;
      if (row.revoked_at !== null) return viewOf(row);
      const at = clock.now();
      await store.commit([revokeToken({ id, at, by: actor })]);
      const revoked = { ...(rows.get(id) ?? row), revoked_at: at, revoked_by: actor };
      rows.set(id, revoked);
      for (const listen of listeners) listen(id);
      return viewOf(revoked);
    },
    isActive(id) {
      const row = rows.get(id);
      return row !== undefined && statusOf(row) === "active";
    },
    list: () => [...rows.values()].sort((a, b) => b.created_at - a.created_at).map(viewOf),
    onRevoked(listen) {
      listeners.add(listen);
      return () => void listeners.delete(listen);
    },
  };
}
