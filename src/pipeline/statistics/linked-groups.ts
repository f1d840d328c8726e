/** The groups of players that choices link, the largest first; each in ascending order. */
export function linkedGroups(players: number, links: Iterable<{ readonly members: readonly number[] }>): number[][] {
  const parent = Int32Array.from({ length: players }, (_, player) => player);
  const rootOf = (player: number): number => {
    let at = player;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at]!]!;
      at = parent[at]!;
    }
    return at;
  };
  for (const { members } of links) for (const member of members) parent[rootOf(member)] = rootOf(members[0]!);
  const groups = new Map<number, number[]>();
  for (let player = 0; player < players; player += 1) {
    const root = rootOf(player);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [player]);
    else group.push(player);
  }
  return [...groups.values()].sort((a, b) => b.length - a.length || a[0]! - b[0]!);
}
