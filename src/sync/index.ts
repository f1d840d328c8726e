/**
 * sync: the files that work produces and needs, by their content.
 *
 * The artifact store keeps each file under the SHA-256 of its bytes. It guarantees that a name is only ever given to the
 * bytes it stands for: they are hashed while they are written, flushed, and then renamed into place; what is interrupted is
 * continued where it stopped, and what turns out wrong leaves nothing.
 */
export {
  type ArtifactStat,
  type ArtifactStore,
  type ArtifactStoreOptions,
  artifactStoreDefaults,
  createArtifactStore,
  type Damage,
  type Inspection,
} from "./artifact-store.ts";
export type { WriteRequest } from "./upload.ts";
