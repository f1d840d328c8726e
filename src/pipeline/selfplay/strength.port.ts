/** How strong a champion is, on the config's one ladder. */
export interface RatedChampion {
  readonly model_id: string;
  /** When it became champion; milliseconds since the epoch. */
  readonly at: number;
  readonly elo: number;
  /** Ends of the 95 % interval. */
  readonly low: number;
  readonly high: number;
}

/** The rated champions of a config, oldest first: the last one is the champion of now. Empty while nothing is rated. */
export type StrengthOf = (configKey: string) => readonly RatedChampion[];
