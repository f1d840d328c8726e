/** Who may call a route: everybody, who may look, who works for the cluster, who runs it. Each includes the ones before it. */
const SCOPES = ["probe", "read", "worker", "operator"] as const;
export type Scope = (typeof SCOPES)[number];

/** What a token can be good for. */
export type TokenScope = Exclude<Scope, "probe">;

export const includes = (held: Scope, needed: Scope): boolean => SCOPES.indexOf(held) >= SCOPES.indexOf(needed);
