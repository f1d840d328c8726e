import type { Expected } from "./transfer/index.ts";
import type { Wanted } from "./transport.port.ts";

/** Places that are kept for files on their way. */
export interface Reservation {
  readonly expected: readonly Expected[];
  readonly refused: readonly { readonly sha256: string; readonly code: string; readonly message: string }[];
  release(): void;
}

export interface ReservationPorts {
  readonly maxBytes: number;
  readonly landingOf: (sha256: string, from: string) => Expected["landing"];
  readonly isLeaving: (sha256: string) => boolean;
}

/** What others bring into its place themselves, with the part it gathers in. They are many, and take no room from who sends. */
export function createReservations({ maxBytes, landingOf, isLeaving }: ReservationPorts) {
  const parts = new Map<string, string>();
  return {
    has: (sha256: string): boolean => parts.has(sha256),
    isPart: (sha256: string, part: string): boolean => parts.get(sha256) === part,
    reserve(wanted: readonly Wanted[], from: string): Reservation {
      const expected: Expected[] = [];
      const refused: Reservation["refused"][number][] = [];
      for (const { sha256, bytes } of wanted) {
        const landing = landingOf(sha256, from);
        if (bytes > maxBytes)
          refused.push({ sha256, code: "ARTIFACT_TOO_LARGE", message: `an artifact may have ${maxBytes} bytes` });
        else if (parts.has(sha256) || isLeaving(sha256))
          refused.push({ sha256, code: "ARTIFACT_BUSY", message: "it is in use at the moment" });
        else {
          parts.set(sha256, landing.part);
          expected.push({ sha256, bytes, landing });
        }
      }
      const release = () => {
        for (const { sha256 } of expected) parts.delete(sha256);
      };
      return { expected, refused, release };
    },
  };
}
