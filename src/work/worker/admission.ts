import { fits, type Needs, type Offer, without } from "../needs.ts";

/** What a node has for jobs, altogether. */
export interface Capacity extends Offer {
  /** Jobs at once, each with a child of its own. */
  readonly slots: number;
  /** Free space below which nothing new is begun. */
  readonly diskReserveBytes: number;
}

export interface Ticket {
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
 * what jobs said they need; what they really use is bounded where they run.
 */
export function createAdmission(capacity: Capacity, diskFreeBytes: () => number): Admission {
  let left: Offer = { ...capacity, tags: capacity.tags };
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
      let held = true;
      return {
        release() {
          if (!held) return;
          held = false;
          running -= 1;
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
