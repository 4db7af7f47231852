import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '@trunkline/storage';
import { isMissingFile } from '../store/files.ts';

/** A file that records that this service was given a roster. */
export interface RosterMarker {
  readonly path: string;
  exists(): Promise<boolean>;
  write(roster: string): Promise<void>;
}

/**
 * Kept in the data folder, so that a roster that is lost later closes the service, across restarts too. Without it a
 * deleted `users.yaml` would look like a service that never had one, where everybody is admin.
 */
export function createRosterMarker(directory: string): RosterMarker {
  const path = join(directory, 'roster-configured');
  return {
    path,
    async exists() {
      try {
        await stat(path);
        return true;
      } catch (error) {
        if (isMissingFile(error)) return false;
        throw error;
      }
    },
    async write(roster) {
      const words = `This service asks for keys since it was given a roster of users (${roster}).
While this file is here, a roster that is missing, empty or broken lets nobody in.
Delete it together with the roster to go back to single-user mode, where everybody is admin.
`;
      await writeFileAtomic(path, words);
    },
  };
}
