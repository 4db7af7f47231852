import type { Principal } from '@trunkline/identity';
import type { CeremonyRun, CeremonyView } from '../api-types.ts';

/** The ceremonies as tools and routes see them. */
export interface CeremonyService {
  list(): CeremonyView[];
  /** Begins a run at once and gives its id; undefined when there is no such ceremony. */
  run(id: string, by: string, principal: Principal): Promise<{ runId: string } | undefined>;
  runs(id: string, limit: number): CeremonyRun[];
  /** Whether there is a file of it, which may be read in a moment, or not be usable. */
  isWritten(id: string): Promise<boolean>;
}
