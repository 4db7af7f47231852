import type { Principal } from '@trunkline/identity';
import type { Ceremony } from '../workspace/schema/ceremony.ts';
import type { Run } from './run-store.ts';

/** A ceremony as lists show it. */
export interface CeremonyView extends Ceremony {
  /** When it comes next; null while it is not enabled. */
  nextRun: string | null;
  lastRun: Run | null;
}

/** The ceremonies as tools and routes see them. */
export interface CeremonyService {
  list(): CeremonyView[];
  /** Begins a run at once and gives its id; undefined when there is no such ceremony. */
  run(id: string, by: string, principal: Principal): Promise<{ runId: string } | undefined>;
  runs(id: string, limit: number): Run[];
  /** Whether there is a file of it, which may be read in a moment, or not be usable. */
  isWritten(id: string): Promise<boolean>;
}
