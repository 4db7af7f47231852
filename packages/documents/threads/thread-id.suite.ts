// Runs in a thread: answers with the number of the thread.
import { threadId } from 'node:worker_threads';
import { serveParser } from './parser-thread.ts';

serveParser(() => threadId);
