import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { oneLine, orRefusal } from '../refusal.ts';
import { walkFiles } from './walk.ts';
import type { WorkspaceSandbox } from './workspace-sandbox.ts';

const MOST_HITS = 100;
const MOST_BYTES = 1024 * 1024;
const LONGEST_LINE = 300;

const input = z.object({
  query: z.string().min(1).max(500).describe('Plain words; upper and lower case count as the same.'),
  path: z.string().default('.'),
});

export function createSearchFiles(sandbox: WorkspaceSandbox): Tool {
  return defineTool({
    name: 'search_files',
    description: 'Searches the text files of the workspace and gives the lines that hold the words.',
    input,
    execute: ({ query, path }, { signal }) =>
      orRefusal(async () => {
        const hits: string[] = [];
        for await (const file of walkFiles(sandbox, path, signal)) {
          signal.throwIfAborted();
          hits.push(...(await hitsIn(sandbox, file, query.toLowerCase())));
          if (hits.length >= MOST_HITS) break;
        }
        return hits.length === 0 ? 'No matches.' : hits.slice(0, MOST_HITS).join('\n');
      }, signal),
  });
}

async function hitsIn(sandbox: WorkspaceSandbox, file: string, query: string): Promise<string[]> {
  const content = await sandbox.read(file, MOST_BYTES).catch(nothing);
  if (content.subarray(0, 1024).includes(0)) return [];
  return content
    .toString('utf8')
    .split('\n')
    .flatMap((line, index) =>
      line.toLowerCase().includes(query) ? `${file}:${index + 1}: ${oneLine(line, LONGEST_LINE)}` : [],
    );
}

/** A file that is too large or may not be read holds no hits. */
function nothing(): Buffer {
  return Buffer.alloc(0);
}
