import { integer } from './makers.ts';
import { group } from './option.ts';

/** Files that messages and answers carry. */
export const contentOptions = group('Files', {
  maxFileMb: integer({
    env: 'CORE_MAX_FILE_MB',
    default: 10,
    min: 1,
    max: 200,
    doc: 'Largest file in megabytes that the agent and the switchboard take with a message or hand out.',
  }),
  filesMb: integer({
    env: 'CORE_FILES_MB',
    default: 2048,
    min: 1,
    doc: 'Megabytes that all files of messages and answers may take together in each of the two. In the agent they go with their conversation, in the switchboard after a day.',
  }),
});
