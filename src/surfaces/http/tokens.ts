import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, type Log, messageOf, OperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { addToken, MOST_SPENT_TOKENS, revokeToken, type TokenRow, touchTokens } from "./api-store.ts";
import type { TokenScope } from "./scope.ts";

export interface TokenView {
  readonly id: string;
  readonly label: string;
  readonly scope: TokenScope;
  readonly status: "active" | "expired" | "revoked";
  /** Unix seconds, as all times here. */
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly last_used_at: number | null;
}

export interface NewToken {
  readonly label: string;
  readonly scope: TokenScope;
  readonly expiresInSeconds?: number | undefined;
}

/** What a good token says about who bears it. */
export interface Bearer {
  readonly id: string;
  readonly label: string;
  readonly scope: TokenScope;
  /** Milliseconds since the epoch; null for one that lasts. */
  readonly expiresAt: number | null;
}

export interface Tokens {
  /** Who bears this text; undefined when it opens nothing (any more). Takes the same time for every wrong secret. */
  verify(text: string): Bearer | undefined;
  /** The secret is in the answer and nowhere else, ever. */
  issue(wanted: NewToken, actor: string): Promise<TokenView & { readonly token: string }>;
  /** Ends what is open under it, too. */
  revoke(id: string, actor: string): Promise<TokenView>;
  list(): TokenView[];
  /** Tells ids that no longer open anything. Returns how to stop. */
  onRevoked(listen: (id: string) => void): () => void;
}

const SHAPE = /^rrt_([0-9a-f]{16})_([\w-]{43})$/;
const MOST_ACTIVE = 1_000;
/** When a token was used last is worth a write no more often than this. */
const TOUCH_EVERY_MS = 60_000;

const digest = (text: string): Buffer => hash("sha256", text, "buffer");
const NOBODY = digest("nobody");

type Kept = { -readonly [K in keyof TokenRow]: TokenRow[K] } & { touchedAt: number };

/** Tokens of 256 bits, of which the store knows hashes; all of them are in memory, so that asking costs no query. */
export function createTokens(store: Store, clock: Clock, log: Log): Tokens {
  const rows = new Map<string, Kept>(
    store
      .read<TokenRow>("SELECT * FROM api_tokens")
      .map((row) => [row.id, { ...row, touchedAt: row.last_used_at ?? 0 }]),
  );
  const listeners = new Set<(id: string) => void>();
  const statusOf = (row: TokenRow): TokenView["status"] => {
    if (row.revoked_at !== null) return "revoked";
    return row.expires_at !== null && row.expires_at <= clock.now() ? "expired" : "active";
  };
  const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1_000);
  const viewOf = (row: TokenRow): TokenView => ({
    id: row.id,
    label: row.label,
    scope: row.scope,
    status: statusOf(row),
    created_at: row.created_at / 1_000,
    created_by: row.created_by,
    expires_at: seconds(row.expires_at),
    revoked_at: seconds(row.revoked_at),
    last_used_at: seconds(row.last_used_at),
  });
  /** The store forgets the oldest of those that open nothing; so do we. */
  const forgetSpent = () => {
    const spent = [...rows.values()].filter((row) => statusOf(row) !== "active");
    const endOf = (row: TokenRow) => row.revoked_at ?? row.expires_at ?? 0;
    for (const { id } of spent.sort((a, b) => endOf(b) - endOf(a)).slice(MOST_SPENT_TOKENS)) rows.delete(id);
  };
  const touch = (row: Kept) => {
    const at = clock.now();
    row.last_used_at = at;
    if (at - row.touchedAt < TOUCH_EVERY_MS) return;
    row.touchedAt = at;
    store
      .commit([touchTokens([{ id: row.id, at }])])
      .catch((thrown: unknown) =>
        log.warn("the use of a token was not written down", { error: messageOf(thrown), token_id: row.id }),
      );
  };
  return {
    verify(text) {
      const [, id = "", secret = ""] = SHAPE.exec(text) ?? [];
      const row = rows.get(id);
      const matches = timingSafeEqual(digest(secret), row === undefined ? NOBODY : Buffer.from(row.hash, "hex"));
      if (row === undefined || !matches || statusOf(row) !== "active") return undefined;
      touch(row);
      return { id, label: row.label, scope: row.scope, expiresAt: row.expires_at };
    },
    async issue({ label, scope, expiresInSeconds }, actor) {
      if ([...rows.values()].filter((row) => statusOf(row) === "active").length >= MOST_ACTIVE)
        throw new OperatingError("TOO_MANY_TOKENS", `there are ${MOST_ACTIVE} tokens`, {
          hint: "Revoke those that nobody needs: GET /v1/tokens says when each was used last.",
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
      };
      await store.commit([addToken(row)]);
      rows.set(id, { ...row, touchedAt: 0 });
      forgetSpent();
      return { ...viewOf(row), token: `rrt_${id}_${secret}` };
    },
    async revoke(id, actor) {
      const row = rows.get(id);
      if (row === undefined) throw new OperatingError("TOKEN_NOT_FOUND", `there is no token ${id}`);
      if (row.revoked_at !== null) return viewOf(row);
      const at = clock.now();
      await store.commit([revokeToken({ id, at, by: actor })]);
      row.revoked_at = at;
      row.revoked_by = actor;
      for (const listen of listeners) listen(id);
      return viewOf(row);
    },
    list: () => [...rows.values()].sort((a, b) => b.created_at - a.created_at).map(viewOf),
    onRevoked(listen) {
      listeners.add(listen);
      return () => void listeners.delete(listen);
    },
  };
}
