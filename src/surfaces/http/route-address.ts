/** The path of a route with its parameters and its query filled in. What is undefined is not sent. */
export function routeAddress(
  path: string,
  params: Readonly<Record<string, unknown>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) if (each !== undefined) search.append(name, String(each));
  return search.size === 0 ? filled : `${filled}?${search}`;
}
