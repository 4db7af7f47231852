import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { guides, root } from '../docs/blocks.suite.ts';

/** Made from code, or figures: nothing in them is for a reader to say. */
const notGuides = /^docs\/(?:reference\/|troubleshooting|benchmarks)/;

const texts = guides()
  .filter((path) => !notGuides.test(relative(root, path)))
  .map((path) => readFileSync(path, 'utf8'));

/** What commands and sessions of the guides have a person say: after `>` in a terminal, or as the word of ask and send. */
export function conversations(): string[] {
  const said = texts.flatMap((text) => {
    const blocks = [...text.matchAll(/^```(?:sh|text)?\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
    const typed = blocks.flatMap((block) => [...block.matchAll(/^> (.+)$|^ask "([^"$]+)"/gm)]);
    const sent = [...text.matchAll(/\btrunkline send (?:--\S+ \S+ )*"([^"$]+)"/g)];
    return [...typed, ...sent].map(([, first, second]) => (first ?? second ?? '').replaceAll('\n', ' '));
  });
  return [...new Set(said)];
}

/** Quotations of three words or more in the running text of the guides. */
export function quotations(): string[] {
  const quoted = texts.flatMap((text) => {
    const running = text
      .replace(/^```[\s\S]*?^```/gm, '')
      .replace(/<[^>]*>|`[^`]*`/g, '')
      // What the product says stands in blocks of its own.
      .replace(/^>.*$/gm, '')
      .replace(/\n(?!\n)/g, ' ');
    return [...running.matchAll(/"([^"\n]+)"/g)].map(([, words = '']) => words);
  });
  return [...new Set(quoted)].filter((words) => words.trim().split(/\s+/).length > 2);
}

/** Quotations that nobody says to a service, or not alone. */
export const notSaid: Record<string, string> = {
  '1.2 × 10⁶': 'a figure on a page',
  '12.5 l/100 km': 'a figure on a page',
  '12.5 litres per 100 km': 'a figure on a page',
  '2 of 3': 'words of a page',
  'Capital – Oslo': 'a line of a report',
  'Card signed, not checked': 'words of a page',
  'Edit as YAML': 'words of a page',
  'Empty the cache first': 'a step on a page that research reads',
  'For this task': 'words of a page',
  'Height in m': 'the head of a column',
  'Up to 300': 'words of a page',
  'Volume (million m³)': 'the head of a column',
  'Open as operator': 'printed at the start',
  'Sign out of Example ID too': 'words of a page',
  'Sound does not get through': 'words of a page',
  'Summarising earlier messages': 'a note in the chat',
  'There is no channel for alerts': 'a line of the log',
  'Resource limits are not supported and ignored': 'what podman says',
  'The page nowhere has this figure': 'a reason at a citation',
  'The rent is 1,450 euros a month and is due on the third working day [1].':
    'the answer to the question before it, checked with it',
  'Are you still there?': 'said by the voice',
  'Resume the call': 'words of a page',
  'Sorry, I did not catch that.': 'said by the voice',
  'are you there?': 'ends a pause of a call: apps/voice/conversation',
  'have research look into it': 'words that name who the work goes to, in a conversation that holds a page',
  'not explicitly required': 'words of the A2A specification',
  'born in 1950, died aged 69': 'words of a page that research reads',
  'every Monday at 10': 'part of a reminder, which is run as a whole',
  'the weather in': 'a sentence that is not finished',
  'two years before': 'words of a page that research reads',
  'a third more': 'words of a page that research reads',
  'about 3.1 miles': 'words of a page that research reads',
  'in millions of euros': 'words of a page that research reads',
  'one hundred and twenty-five': 'words of a page that research reads',
  'mil doscientos cincuenta': 'words of a page that research reads',
};

/** The text of a file that a guide has its reader write with `cat`. */
export function fileIn(guide: string, name: string): string {
  const text = readFileSync(join(root, guide), 'utf8');
  const [, content] = new RegExp(`^cat > \\S*${name} <<'EOF'\\n([\\s\\S]*?)^EOF$`, 'm').exec(text) ?? [];
  if (content === undefined) throw new Error(`${guide} writes no file ${name}`);
  return content;
}
