/** How many jobs a node may hold, as people read it. By itself, for commands that must not wait until the whole room is loaded. */
interface ToldSlots {
  readonly slots: number;
  readonly of: number;
  readonly target: number;
  readonly measured: number;
  readonly best?: number | undefined;
  readonly tries?: true | undefined;
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

export const slotsWords = ({ slots, of, target, measured, best, tries }: ToldSlots): string => {
  const some = `slots ${slots} of ${of}`;
  if (tries) return `${some}: a trial of a few jobs, to see whether it does more work with ${slots}`;
  if (best === slots) return `${some}: it does most work with ${best}`;
  return `${some}: machine busy (${percent(measured)}, target ${percent(target)})`;
};
