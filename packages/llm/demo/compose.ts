import { capitalise, contentWords, sentencesOf, shorten, trimPhrase } from './text.ts';
import type { Outcome } from './types.ts';

const longestTopic = 140;

const address = /https?:\/\/[^\s)\]>"']*[^\s)\]>"'.,;:!?]/;

const label =
  /^[^\w\n]*(?:research |user |main |original )?(?:query|topic|question|subject|dimension|title|goal)[^\w\n:]*:[^\w\n]*(.+)$/im;

const tag = /<(query|topic|question|subject|dimension)>\s*(.+?)\s*<\/\1>/is;

const quoted = /["“]([^"”\n]{3,160})["”]/;

const about = /\b(?:about|regarding|concerning|report on|research on|into)\s+([^.?!\n]{3,160})/i;

const questionStart =
  /^(?:(?:how|why|when|where)\s+(?:do|does|did|can|could|should|is|are|was|were|to|much|many)|what(?:'s| is| are| was| were| does| do)?|who(?:'s| is| was| are)?|which|tell me about|explain|describe|define|research|investigate|compare)\s+/i;

/** Lists by the name of the property that asks for them; the first rule that fits is used. */
const listRules: ListRule[] = [
  {
    names: /gap|missing|issue|problem|error|conflict|warning|contradiction|unsupported/i,
    count: 0,
    entries: facetsOf,
  },
  { names: /quer|search|question/i, count: 3, entries: queriesOf },
  {
    names: /dimension|aspect|facet|section|angle|perspective|area|theme|outline|plan|step|topic/i,
    count: 4,
    entries: facetsOf,
  },
  { names: /keyword|tag|term|entit|label/i, count: 5, entries: (topic, text) => termsOf(`${topic} ${text}`) },
  { names: /url|link/i, count: 5, entries: (_, text) => text.match(new RegExp(address, 'g')) ?? [] },
  { names: /./, count: 4, entries: (topic, text) => salientSentences(text, { sentences: 8, focus: topic }) },
];

const longestSentence = 400;

const tooAlike = 0.7;

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
      : `From memory: ${recalled(result)}`,
  daily_log: ({ input }) => `Logged: "${said(input.content)}".`,
  notes_write: ({ input }) => `Noted in ${said(input.tab)}: "${said(input.content)}".`,
  schedule_task: ({ input, result }) => `${scheduled(result)} It will run: "${said(input.prompt)}".`,
  get_incidents: ({ result }) => result,
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

/** An answer in plain words from everything the tools gave back. */
export function compose(outcomes: Outcome[]): string {
  const said = [...new Set(outcomes.map(describe))];
  return said.join(said.some((text) => text.includes('\n')) ? '\n\n' : ' ');
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
function recalled(result: string): string {
  const lines = result
    .replace(/^\[[^\]]*\]\s*:?\s*/gm, '')
    .trim()
    .split('\n');
  return shorten([...new Set(lines)].join('\n'), longestPlainResult);
}

/** The time in words; results in any other form are told as they are. */
function scheduled(result: string): string {
  const [, job = '', at = ''] = /^Scheduled job (\S+) next at (\S+)\.$/.exec(result.trim()) ?? [];
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return result;
  const words = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: 'UTC' });
  return `Scheduled for ${words.format(time)} UTC, as job ${job}.`;
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

interface Candidate {
  text: string;
  words: Set<string>;
  position: number;
  score: number;
}

interface SummaryOptions {
  sentences: number;
  /** Words the summary should turn around, such as the question. */
  focus?: string;
}

/** Picks the sentences that say most, by word frequency, place and focus, and gives them in their own order. */
export function summarise(text: string, options: SummaryOptions): string {
  return salientSentences(text, options).join(' ');
}

export function salientSentences(text: string, { sentences, focus = '' }: SummaryOptions): string[] {
  const candidates = rank(markedSentences(text), new Set(contentWords(focus)));
  const chosen: Candidate[] = [];
  for (const candidate of [...candidates].sort((a, b) => b.score - a.score || a.position - b.position)) {
    if (chosen.length >= sentences) break;
    if (!chosen.some((other) => overlap(candidate.words, other.words) > tooAlike)) chosen.push(candidate);
  }
  return chosen.sort((a, b) => a.position - b.position).map((candidate) => candidate.text);
}

/** Sentences of the text without its headings; those under a numbered source line such as "[2] Title" carry its number. */
function markedSentences(text: string): string[] {
  let mark = '';
  const lines = text.split('\n').filter((line) => !/^\s*#{1,6}\s/.test(line));
  return lines.flatMap((line) => {
    const source = /^\s*\[(\d{1,3})\]\s*(.*)$/.exec(line);
    if (source) mark = `[${source[1]}]`;
    const body = source ? (source[2] ?? '') : line;
    return sentencesOf(body)
      .filter(isProse)
      .map((sentence) => withMark(shorten(sentence, longestSentence), mark));
  });
}

function isProse(sentence: string): boolean {
  return !/https?:\/\//.test(sentence) && sentence.split(/\s+/).length >= 4;
}

function withMark(sentence: string, mark: string): string {
  return mark === '' || /\[\d{1,3}\]/.test(sentence) ? sentence : `${sentence} ${mark}`;
}

function rank(sentences: string[], focus: Set<string>): Candidate[] {
  const frequency = countWords(sentences);
  return sentences.map((text, position) => {
    const words = new Set(contentWords(text));
    const weight =
      [...words].reduce((sum, word) => sum + (frequency.get(word) ?? 0), 0) / Math.sqrt(words.size + 1);
    const focused = 1 + [...words].filter((word) => focus.has(word)).length;
    const placed = position === 0 ? 1.5 : 1 + 0.3 / (1 + position);
    return { text, words, position, score: weight * focused * placed };
  });
}

function countWords(sentences: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of sentences.flatMap(contentWords)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Share of the smaller set that both have. */
function overlap(left: Set<string>, right: Set<string>): number {
  const smaller = Math.min(left.size, right.size);
  return smaller === 0 ? 0 : [...left].filter((word) => right.has(word)).length / smaller;
}

/** What a piece of text is about: a labelled line, a tag, a quotation, "about ..." or its first line. */
export function topicOf(text: string): string {
  const found =
    label.exec(text)?.[1] ?? tag.exec(text)?.[2] ?? quoted.exec(text)?.[1] ?? about.exec(text)?.[1];
  const firstLine = text.split('\n').find((line) => line.trim() !== '') ?? '';
  return shorten(trimPhrase((found ?? firstLine).slice(0, 4 * longestTopic)), longestTopic);
}

/** The topic without the words that make it a question. */
function subjectOf(topic: string): string {
  return trimPhrase(topic.replace(questionStart, '').replace(/^(?:the|a|an)\s+/i, '')) || topic;
}

/** Sides from which a topic can be looked at. */
function facetsOf(topic: string): string[] {
  const subject = subjectOf(topic);
  return [
    `Background and definition of ${subject}`,
    `How it works: ${subject}`,
    `Evidence and figures on ${subject}`,
    `Limits and criticism of ${subject}`,
    `Practice and examples of ${subject}`,
    `Outlook for ${subject}`,
  ];
}

function queriesOf(topic: string): string[] {
  const subject = subjectOf(topic);
  return [
    subject,
    ...['overview', 'evidence', 'criticism', 'recent developments', 'examples'].map(
      (word) => `${subject} ${word}`,
    ),
  ];
}

function termsOf(text: string): string[] {
  const counts = new Map<string, number>();
  for (const word of contentWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort(([, left], [, right]) => right - left).map(([word]) => word);
}

interface ListRule {
  names: RegExp;
  /** How many entries make a sensible list when the schema does not say. */
  count: number;
  entries(topic: string, text: string): string[];
}

/** Entries for a list of texts with this name, at least `least` and at most `most` of them. */
export function listFor(name: string, topic: string, text: string, least: number, most: number): string[] {
  const rule = listRules.find(({ names }) => names.test(name));
  const wanted = Math.min(most, Math.max(least, rule?.count ?? 0));
  const entries = [...new Set(rule?.entries(topic, text) ?? [])].slice(0, wanted);
  const padding = facetsOf(topic).slice(0, Math.max(0, least - entries.length));
  return [...entries, ...padding];
}

/** A text for a property with this name. */
export function textFor(name: string, topic: string, text: string): string {
  if (/quer|search/i.test(name)) return subjectOf(topic);
  if (/url|uri|link/i.test(name)) return address.exec(text)?.[0] ?? 'https://example.org/';
  if (/^(?:title|name|heading|label|dimension|topic|subject|aspect|section|gap|question)$/i.test(name))
    return capitalise(topic);
  const sentences = /summar|report|answer|content|overview|abstract|body|text/i.test(name) ? 4 : 1;
  return salientSentences(text, { sentences, focus: topic }).join(' ') || topic;
}
