/** What a browser sees of a coordinator that stands by: that it is one, and where the page of the leader is. */
import type { ClusterView } from "../../cluster/index.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const text = (value: string): string => value.replace(/[&<>"']/g, (sign) => ENTITIES[sign]!);

/** Nothing but these words: no script, no style, nothing from elsewhere. It is asked for again by itself. */
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  refresh: "5",
};

/** Other coordinators say what their address is: only what is one becomes a link. */
const link = (url: string): string =>
  /^https?:\/\//.test(url) && URL.canParse(url) ? `<a href="${text(url)}">${text(url)}</a>` : text(url);

export function standbyPage(view: ClusterView | undefined): Response {
  const leader = view === undefined || view.leader?.name === view.name ? null : view.leader;
  const title = view === undefined ? "This coordinator starts" : `${text(view.name)} stands by`;
  const words =
    leader === null
      ? "No coordinator leads at the moment. <code>ringrift cluster status</code> shows why."
      : `<strong>${text(leader.name)}</strong> leads, in term ${leader.term}. Its page is at ${link(leader.url)}.`;
  const body = [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta name="color-scheme" content="light dark"><title>${title}</title></head>`,
    `<body><main><h1>${title}</h1><p>${words}</p><p>This page looks again every 5 seconds.</p></main></body></html>`,
  ];
  return new Response(body.join("\n"), { status: 503, headers: HEADERS });
}
