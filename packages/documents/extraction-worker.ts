// Runs in a thread: takes raw pages and files, gives back their text.
import { serveParser } from '@trunkline/tools/parser-thread';
import { extract } from './read.ts';

serveParser(extract);
