import { VIEWS, type View } from "./views.ts";

/** The view that a path names, and what stands in its places. */
export function matchView(
  path: string,
): { readonly view: View; readonly params: Readonly<Record<string, string>> } | undefined {
  const parts = path.replace(/(?<=.)\/$/, "").split("/");
  for (const view of VIEWS) {
    const wanted = view.split("/");
    if (wanted.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((word, i) => {
      if (!word.startsWith(":")) return word === parts[i];
      params[word.slice(1)] = decoded(parts[i]!);
      return parts[i] !== "";
    });
    if (fits) return { view, params };
  }
  return undefined;
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // Half of an escape is no reason not to look for what it says.
    return text;
  }
};
