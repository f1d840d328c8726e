/** Relative links in Markdown must lead somewhere: to a file, and to a heading in it. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** The page without what is code in it; lines keep their numbers. */
const prose = (markdown: string): string =>
  markdown
    .replaceAll(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ *\2`*[ \t]*$/gm, (block) => block.replaceAll(/[^\n]/g, ""))
    .replaceAll(/(`+)(?!`)[^\n]*?[^`]\1(?!`)/g, (code) => "x".repeat(code.length));

/** The anchors of a page as GitHub makes them from its headings, and those set by hand. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  const withoutBlocks = markdown.replaceAll(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ *\2`*[ \t]*$/gm, "");
  for (const [, heading] of withoutBlocks.matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const text = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{Pc}\- ]/gu, "")
      .replaceAll(" ", "-");
    let name = slug;
    for (let copy = 1; anchors.has(name); copy += 1) name = `${slug}-${copy}`;
    anchors.add(name);
  }
  for (const [, name] of markdown.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) anchors.add(name!);
  return anchors;
}

export function brokenLinks(file: string, root: string): string[] {
  const text = prose(readFileSync(file, "utf8"));
  const targets = [
    ...text.matchAll(/\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g),
    ...text.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/gm),
  ];
  return targets.flatMap((match) => {
    const target = match[1]!;
    if (/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) return [];
    const line = text.slice(0, match.index).split("\n").length;
    const says = (what: string) => [`${relative(root, file)}:${line}: ${target} ${what}`];
    const [path = "", anchor] = decodeURIComponent(target).split("#");
    const to = path === "" ? file : path.startsWith("/") ? join(root, path) : resolve(dirname(file), path);
    if (relative(root, to).startsWith("..")) return says("leads out of the repository");
    if (!existsSync(to)) return says("leads nowhere");
    if (anchor === undefined || !to.endsWith(".md") || statSync(to).isDirectory()) return [];
    return anchorsOf(readFileSync(to, "utf8")).has(anchor) ? [] : says("has no such heading");
  });
}
