/** Where one round of a config is told, event by event. */
export const iterationLink = (config: string, iteration: number): string =>
  `/journal?config=${encodeURIComponent(config)}&iteration=${iteration}`;
