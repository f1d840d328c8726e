/** How many jobs a node may hold, as people read it. By itself, for commands that must not wait until the whole room is loaded. */
interface ToldSlots {
  readonly slots: number;
  readonly of: number;
  readonly target: number;
  readonly measured: number;
  readonly best?: number | undefined;
}

export const slotsWords = ({ slots, of, target, measured, best }: ToldSlots): string => {
  if (best === slots) return `slots ${slots} of ${of}: it does most work with ${best}`;
  return `slots ${slots} of ${of}: target ${target.toFixed(2)}, measured ${measured.toFixed(2)}`;
};
