import { fits, type Needs, type Offer, without } from "../job/needs.ts";

/** What a node has for jobs, altogether. */
export interface Capacity extends Offer {
  /** Jobs at once, each with a child of its own. */
  readonly slots: number;
  /** Free space below which nothing new is begun. */
  readonly diskReserveBytes: number;
  /** Names of its accelerators; their numbers from 0 on unless given. */
  readonly gpuIds?: readonly string[];
}

export interface Ticket {
  /** The accelerators that are this job's alone. */
  readonly gpus: readonly string[];
  /** Gives back what was taken. Doing it twice is doing it once. */
  release(): void;
}

export interface Admission {
  readonly capacity: Capacity;
  /** What is free now; nothing while the disk is too full. */
  free(): { readonly slots: number; readonly offer: Offer };
  readonly running: number;
  /** Takes a slot and what the job needs; undefined if it does not fit. */
  take(needs: Needs): Ticket | undefined;
}

/**
 * The one controller of a node: whatever is to run takes its tokens here, and what does not fit is not claimed. It counts
 * what jobs said they need; what they really use is bounded where they run. An accelerator is one job's at a time.
 */
export function createAdmission(capacity: Capacity, diskFreeBytes: () => number): Admission {
  let left: Offer = { ...capacity, tags: capacity.tags };
  let idle = capacity.gpuIds ?? Array.from({ length: Math.floor(capacity.gpu) }, (_, n) => String(n));
  let running = 0;
  return {
    capacity,
    get running() {
      return running;
    },
    free() {
      const hasRoom = diskFreeBytes() >= capacity.diskReserveBytes;
      const { cpu, gpu, memory_gb, gpu_memory_gb, tags } = left;
      return {
        slots: hasRoom ? capacity.slots - running : 0,
        offer: { cpu, gpu, memory_gb, gpu_memory_gb, tags },
      };
    },
    take(needs) {
      if (running >= capacity.slots || !fits(needs, left)) return undefined;
      running += 1;
      left = without(left, needs);
      const gpus = idle.slice(0, Math.ceil(needs.gpu));
      idle = idle.slice(gpus.length);
      let held = true;
      return {
        gpus,
        release() {
          if (!held) return;
          held = false;
          running -= 1;
          idle = [...idle, ...gpus];
          left = {
            ...left,
            cpu: left.cpu + needs.cpu,
            gpu: left.gpu + needs.gpu,
            memory_gb: left.memory_gb + needs.memory_gb,
          };
        },
      };
    },
  };
}
