import { describeSchedule } from '@trunkline/std';
import type { Outcome } from './request.ts';
import { summarise } from './summary.ts';
import { shorten, trimPhrase, wordsIn } from './text.ts';

const longestPlainResult = 1200;
const shownResults = 3;

type Describe = (outcome: Outcome) => string;

/** How the result of each known tool is put into words; others are quoted. */
const describers: Record<string, Describe> = {
  current_time: ({ input, result }) => `${placeOf(input)}: ${lastLine(result)}.`,
  calculator: ({ result }) => `${result}.`,
  memory_ingest: ({ input }) => `I will remember: "${said(input.content)}".`,
  memory_recall: ({ input, result }) =>
    /^No matches/i.test(result)
      ? `I have nothing in memory about "${said(input.query)}".`
      : `From memory: ${recalled(result, said(input.query))}`,
  daily_log: ({ input }) => `Logged: "${said(input.content)}".`,
  notes_write: ({ input }) => `Noted in ${said(input.tab)}: "${said(input.content)}".`,
  schedule_task: ({ input, result }) => `${scheduled(result, input)} It will run: "${said(input.prompt)}".`,
  set_reminder: ({ input, result }) => `${scheduled(result, input)} Reminder: ${said(input.text)}.`,
  memory_list: ({ result }) => `I remember:\n${recalled(result)}`,
  notes_list: plainly,
  notes_read: ({ input, result }) => (said(input.tab) === '' ? result : `${said(input.tab)}:\n${result}`),
  list_schedules: ({ result }) => result.split('\n').map(scheduleLine).join('\n'),
  cancel_schedule: plainly,
  beads_create: plainly,
  beads_list: ({ result }) => (result === 'No issues.' ? 'No open tasks.' : result),
  beads_close: plainly,
  check_inbox: plainly,
  set_goal: plainly,
  look_up: plainly,
  get_incidents: plainly,
  report_incident: ({ input, result }) => `${result} Its title: "${said(input.title)}".`,
  web_search: ({ input, result }) => digestOf(input, result, { listed: true }),
  searchWeb: ({ input, result }) => digestOf(input, result, { listed: false }),
  searchEncyclopedia: ({ input, result }) => digestOf(input, result, { listed: false }),
  fetch_url: ({ input, result }) =>
    `${said(input.url)} says: ${summarise(withoutFirstLine(result), { sentences: 3 }) || shorten(result, longestPlainResult)}`,
  delegate_to: ({ input, result }) =>
    `${said(input.target)} answered: ${shorten(result, longestPlainResult)}`,
  peer_consult: ({ input, result }) => `${said(input.name)} answered: ${shorten(result, longestPlainResult)}`,
  ask_human: ({ result }) => `Thank you. You answered: "${trimPhrase(result)}".`,
  request_user_input: ({ result }) => `Thank you. The form says: ${result}`,
};

function plainly({ result }: Outcome): string {
  return result;
}

/** An answer in plain words from everything the tools gave back; what only led to the next call is left out. */
export function compose(outcomes: Outcome[]): string {
  const isStep = ({ tool, result }: Outcome, next = '') =>
    (tool === 'look_up' && next === 'web_search' && /^Nothing was found/.test(result)) ||
    (tool === 'list_schedules' && next === 'cancel_schedule');
  const told = outcomes.filter((outcome, index) => !isStep(outcome, outcomes[index + 1]?.tool));
  const said = [...new Set(told.map(describe))];
  const isList = said.length > 2 || said.some((text) => /^- |\n/.test(text));
  return said.join(isList ? '\n\n' : ' ');
}

/** Tools whose failures are sentences for people, and whose results the page shows itself. */
const ofResearch = new Set(['searchWeb', 'searchEncyclopedia']);

function describe(outcome: Outcome): string {
  if (/^Error:/i.test(outcome.result)) {
    const reason = outcome.result.replace(/^Error:\s*/i, '');
    return ofResearch.has(outcome.tool) ? reason : `${outcome.tool} failed: ${reason}`;
  }
  if (outcome.result.trim() === '') return `${outcome.tool} gave nothing back.`;
  return (
    describers[outcome.tool]?.(outcome) ?? `${outcome.tool}: ${shorten(outcome.result, longestPlainResult)}`
  );
}

function placeOf(input: Outcome['input']): string {
  const zone = said(input.timezone) || 'UTC';
  return `Time in ${zone.split('/').at(-1)?.replaceAll('_', ' ')}`;
}

function said(value: unknown): string {
  return typeof value === 'string' ? shorten(value, 300) : '';
}

function lastLine(text: string): string {
  return trimPhrase(text.trim().split('\n').at(-1) ?? '');
}

function withoutFirstLine(text: string): string {
  return text.slice(text.indexOf('\n') + 1);
}

/** Memory lines read `[domain] heading: text`; the domain says nothing to a person. */
function recalled(result: string, query = ''): string {
  const lines = result
    .replace(/^\[[^\]]*\]\s*:?\s*/gm, '')
    .trim()
    .split('\n');
  const words = wordsIn(query);
  const count = (line: string) => words.filter((word) => line.toLowerCase().includes(word)).length;
  const most = Math.max(...lines.map(count));
  const fitting = lines.filter((line) => count(line) === most);
  return shorten([...new Set(fitting)].join('\n'), longestPlainResult);
}

/** The time in words, and how it comes again; a result in any other form stays as it is. */
function scheduled(result: string, input: Outcome['input']): string {
  const [, job = '', at = ''] =
    /^(?:Scheduled job|Reminder) (\S+) (?:next at|is set for) (\S+)\.$/.exec(result.trim()) ?? [];
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return result;
  const timeZone = said(input.timezone) || 'UTC';
  const words = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone });
  const rhythm = describeSchedule(said(input.when));
  const first = `${words.format(time)} ${timeZone}`;
  return rhythm === undefined
    ? `Scheduled for ${first}, as job ${job}.`
    : `Scheduled: ${rhythm.replace(/^(?:Every|On)\b/, (word) => word.toLowerCase())}, first on ${first}, as job ${job}.`;
}

/** A line `id | next TIME | SCHEDULE | PROMPT` as people put it; one in any other form stays as it is. */
function scheduleLine(line: string): string {
  const [, id = '', at = '', prompt = ''] = /^(\S+) \| next (\S+) \| [^|]+ \| (.+)$/.exec(line) ?? [];
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return line;
  const words = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: 'UTC' });
  const [what = prompt] = /^[^.!?]{4,}(?=[.!?] )/.exec(prompt) ?? [];
  return `- ${what}: ${words.format(time)} UTC (${id})`;
}

interface Hit {
  /** By which the page cites it, where the tool gives one. */
  number?: number;
  title: string;
  url: string;
  snippet: string;
}

/** The sentences that fit the question best, then where they stand, unless the page lists that itself. */
function digestOf(input: Outcome['input'], result: string, { listed }: { listed: boolean }): string {
  const hits = hitsOf(result).slice(0, shownResults);
  if (hits.length === 0) return listed ? shorten(result, longestPlainResult) : 'The search found nothing.';
  const numberOf = (hit: Hit, index: number) => hit.number ?? index + 1;
  const text = hits.map((hit, index) => `[${numberOf(hit, index)}] ${hit.snippet}`).join('\n');
  const digest = summarise(text, { sentences: 3, focus: said(input.query) });
  const found = digest || `I found ${hits.length} result(s).`;
  if (!listed) return found;
  const places = hits.map((hit, index) => `- [${numberOf(hit, index)}] ${hit.title} (${hit.url})`);
  return `${found}\n\n${places.join('\n')}`;
}

/** Reads results given as a JSON list or as numbered lines `title — url` with a snippet below. */
function hitsOf(result: string): Hit[] {
  const listed = jsonHits(result);
  if (listed !== undefined) return listed;
  return [...result.matchAll(/^\s*\d+[.)]\s+(.+?) — (\S+)\n?\s*([^\n]*)/gm)].map(
    ([, title = '', url = '', snippet = '']) => ({ title, url, snippet }),
  );
}

function jsonHits(result: string): Hit[] | undefined {
  if (!/^\s*[[{]/.test(result)) return undefined;
  try {
    const parsed: unknown = JSON.parse(result);
    const list: unknown[] = Array.isArray(parsed) ? parsed : Object.values(parsed as object).flat();
    return list
      .filter((hit): hit is Hit => typeof hit === 'object' && hit !== null && 'title' in hit && 'url' in hit)
      .map((hit) => ({ ...hit, snippet: String(hit.snippet ?? '') }));
  } catch {
    return undefined;
  }
}
