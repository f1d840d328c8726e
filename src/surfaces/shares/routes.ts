import { OperatingError } from "../../kernel/index.ts";
import { handle, type Route } from "../http/route.ts";
import type { TokenView } from "../http/tokens.ts";
import { isViewPrefix } from "../web/view-routes.ts";
import { createShare, listShares, revokeShare } from "./wire.ts";

const isShare = (token: TokenView): token is TokenView & { readonly path: string } =>
  token.kind === "share" && token.path !== null;

/** An address as a browser has it, without the end that changes nothing. */
const tidy = (path: string): string => path.replace(/[?#].*$/, "").replace(/(?<=.)\/+$/, "");

const notFound = (id: string) =>
  OperatingError.notFound("SHARE_NOT_FOUND", `there is no share '${id}'`, {
    hint: "'ringrift share list' lists them.",
  });

export const shareRoutes: readonly Route[] = [
  handle(createShare, async ({ ports, body: { path: given, label, expires_in_seconds }, caller: { actor } }) => {
    const path = tidy(given);
    if (!path.startsWith("/") || !isViewPrefix(path))
      throw OperatingError.invalid("SHARE_PATH_UNKNOWN", `no view has the address '${given}'`, {
        hint: "Give the address of a view as the browser shows it, for example /configs/othello6_2p; / shares them all.",
      });
    const wanted = { label, scope: "read", expiresInSeconds: expires_in_seconds, kind: "share", path } as const;
    const made = await ports.tokens.issue(wanted, actor);
    return { ...made, path, url: `${ports.address().url}${path}#share=${made.token}` };
  }),
  handle(listShares, ({ ports }) => ({ shares: ports.tokens.list().filter(isShare) })),
  handle(revokeShare, async ({ ports, params: { id }, caller: { actor } }) => {
    // A label or an id of something else is no share.
    const found = ports.tokens.list().filter((token) => isShare(token) && (token.id === id || token.label === id));
    const [meant = found[0]] = found.filter((token) => token.id === id || token.status === "active");
    if (meant === undefined) throw notFound(id);
    const row = await ports.tokens.revoke(meant.id, actor);
    if (!isShare(row)) throw notFound(id);
    return row;
  }),
];
