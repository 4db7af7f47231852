import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '@trunkline/std';

const EXAMPLE = join(import.meta.dirname, '../../../.env.example');

const lists = new Map<string, ReadonlySet<string>>();

/**
 * The variables of all services. They stand in `.env.example`, which is made from the tables of all services; loading those
 * takes longer, and a service does not know the others. An installation without that file knows none.
 */
export function knownVariables(example = EXAMPLE): ReadonlySet<string> {
  const known = lists.get(example) ?? variablesIn(textOf(example));
  lists.set(example, known);
  return known;
}

// Lines that set one, and other names of the same option, which stand in the comment above.
function variablesIn(text: string): Set<string> {
  const set = [...text.matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name = '']) => name);
  const comments = text.replace(/\n# /g, ' ');
  const others = [...comments.matchAll(/Also read from ([A-Z0-9_, ]+)/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  );
  return new Set([...set, ...others.filter(Boolean)]);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
    throw error;
  }
}
