import arenaUrl from "./browser/arena.worker.ts?worker&url";
import sharedStreamUrl from "./browser/shared-stream.ts?sharedworker&url";

/** What runs beside the page. Only scripts of our own build may: the policy asks who vouches for their addresses. */
const vouch = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("ringrift", {
  createScriptURL: (url) => {
    if (new URL(url, location.href).origin === location.origin) return url;
    throw new TypeError(`${url} is not a script of this page`);
  },
});

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

const ours = (url: string): string => vouch?.createScriptURL(url) ?? url;

export const sharedStream = (): SharedWorker =>
  new SharedWorker(ours(sharedStreamUrl), { type: "module", name: "ringrift" });

export const arenaWorker = (): Worker => new Worker(ours(arenaUrl), { type: "module", name: "arena" });
