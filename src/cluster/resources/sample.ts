/** What a node measures of itself. Shares are 0 to 1. */
export interface GpuSample {
  readonly name: string;
  readonly usage: number;
  readonly memoryUsedBytes: number;
  readonly memoryTotalBytes: number;
}

export interface ResourceSample {
  /** Processors this process may use: those of the machine, or fewer where a control group says so. */
  readonly cpus: number;
  /** Share of the processors in use since the last sample; null in the first one. */
  readonly cpuUsage: number | null;
  /** Share of the last minute in which work waited for a processor: busy is fine, waiting is not. */
  readonly cpuPressure: number;
  /** Share of the processors that other programs took since the last sample; null where that cannot be told. */
  readonly cpuOthers: number | null;
  readonly memory: {
    /** The fuller of the machine and the control group: whichever ends this process first. */
    readonly usage: number;
    readonly totalBytes: number;
    readonly limitedBy: "machine" | "control group";
    /** Of this process alone. */
    readonly rssBytes: number;
  };
  /** Of the disk that holds the data folder. */
  readonly disk: { readonly totalBytes: number; readonly usedBytes: number; readonly freeBytes: number };
  /** How late timers of this process were since the last sample. */
  readonly loopDelayMs: { readonly p99: number; readonly max: number };
  readonly gpus: readonly GpuSample[];
}

/** Reads the machine. The decisions are made elsewhere, on what it gives. */
export interface ResourceSampler {
  sample(signal: AbortSignal): Promise<ResourceSample>;
  /** Lets go of what measures between samples; a later sample takes it up again. */
  close(): void;
}

/**
 * How short processors are. That our own jobs wait for each other is what a machine is bought for; only what others take from them
 * is a shortage.
 */
export const cpuShortageOf = ({ cpuPressure, cpuOthers }: Pick<ResourceSample, "cpuPressure" | "cpuOthers">): number =>
  Math.min(cpuPressure, cpuOthers ?? 1);

export const diskUsageOf = ({ usedBytes, freeBytes }: ResourceSample["disk"]): number =>
  usedBytes + freeBytes === 0 ? 0 : usedBytes / (usedBytes + freeBytes);

/** The fullest accelerator decides: work is placed on one of them. */
export const gpuMemoryUsageOf = (gpus: readonly GpuSample[]): number =>
  Math.max(
    0,
    ...gpus.map(({ memoryUsedBytes, memoryTotalBytes }) =>
      memoryTotalBytes === 0 ? 0 : Math.min(1, memoryUsedBytes / memoryTotalBytes),
    ),
  );
