/** A setting is a row: where it is set, what it may be, what it is unless set, and what it changes. Each room has its own. */
import type { Kind } from "./kind.ts";

/** What a default may depend on. */
export interface World {
  readonly hostName: string;
  /** `.ringrift` here or above. */
  readonly dataDir: string;
  /** `ringrift.config.json` here or above, if there is one. */
  readonly configFile: string | undefined;
}

interface Place {
  /** Its name in the file and in `ringrift config`. */
  readonly key: string;
  readonly variable: `RINGRIFT_${string}`;
  readonly flag?: `--${string}`;
  /** What it sets, in one sentence. */
  readonly about: string;
  /** The default in words, where it is no fixed value. */
  readonly shown?: string;
  /** It says where the file is, and so cannot stand in it. */
  readonly notInFile?: true;
  /** The key of a yes or no without which it has no effect. */
  readonly onlyWith?: string;
}

/** A row as it is written down. The default is in the unit that people set it in. */
export interface Row<Written> extends Place {
  readonly default: Written | ((world: World) => Written);
}

export interface Setting<T> extends Place {
  readonly kind: Kind<T>;
  fallback(world: World): unknown;
}

/** The rows of a room, in the shape in which its parts get the values. */
export interface SettingTree {
  readonly [field: string]: Setting<unknown> | SettingTree;
}

/** What the parts of the program are given: a value for each row, in the unit that they count in. */
export type SettingValues<Tree> = {
  readonly [F in keyof Tree]: Tree[F] extends Setting<infer T> ? T : SettingValues<Tree[F]>;
};

/** Some of the values, as a program gives them. */
export type SomeValues<Tree> = {
  readonly [F in keyof Tree]?: (Tree[F] extends Setting<infer T> ? T : SomeValues<Tree[F]>) | undefined;
};

export const settingOf = <T, Written>(kind: Kind<T>, { default: given, ...row }: Row<Written>): Setting<T> => ({
  ...row,
  kind,
  fallback: typeof given === "function" ? (given as (world: World) => Written) : () => given,
});

const isSetting = (node: Setting<unknown> | SettingTree): node is Setting<unknown> =>
  typeof node.fallback === "function";

/** Every row with what stands at its place in a value of the same shape. */
export function rowsWith(tree: SettingTree, values: unknown = {}): (readonly [Setting<unknown>, unknown])[] {
  const at = (values ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(tree).flatMap(([field, node]) =>
    isSetting(node) ? [[node, at[field]] as const] : rowsWith(node, at[field]),
  );
}

/** A value of the tree's shape; `written` gives what is set for a row, in the row's own unit. */
export const settingValues = <Tree extends SettingTree>(
  tree: Tree,
  written: (row: Setting<unknown>) => unknown,
): SettingValues<Tree> =>
  Object.fromEntries(
    Object.entries(tree).map(([field, node]) => {
      if (!isSetting(node)) return [field, settingValues(node, written)];
      const value = written(node);
      return [field, value === undefined ? undefined : node.kind.inside(value)];
    }),
  ) as SettingValues<Tree>;

const NOWHERE: World = { hostName: "", dataDir: "", configFile: undefined };

/** What the parts get where nothing is set. */
export const settingDefaults = <Tree extends SettingTree>(tree: Tree): SettingValues<Tree> =>
  settingValues(tree, (row) => row.fallback(NOWHERE));
