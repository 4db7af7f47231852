// Runs in a thread: takes raw pages and files, gives back their text.

// Most are pages: what reads them is loaded before the time of the first task counts.
import './html/html.ts';
import { extract } from './read.ts';
import { serveParser } from './threads/parser-thread.ts';

serveParser(extract);
