import { countWords, salientSentences } from './summary.ts';
import { capitalise, shorten, trimPhrase } from './text.ts';

const longestTopic = 140;

const address = /https?:\/\/[^\s)\]>"']*[^\s)\]>"'.,;:!?]/;

const label =
  /^[^\w\n]*(?:research |user |main |original )?(?:query|topic|question|subject|dimension|title|goal)[^\w\n:]*:[^\w\n]*(.+)$/im;

const tag = /<(query|topic|question|subject|dimension)>\s*(.{1,600}?)\s*<\/\1>/is;

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

/** What a piece of text is about: a labelled line, a tag, a quotation, "about ..." or its first line. */
export function topicOf(text: string): string {
  const found =
    label.exec(text)?.[1] ?? tag.exec(text)?.[2] ?? quoted.exec(text)?.[1] ?? about.exec(text)?.[1];
  const firstLine = text.split('\n').find((line) => line.trim() !== '') ?? '';
  return shorten(trimPhrase((found ?? firstLine).slice(0, 4 * longestTopic)), longestTopic);
}

/** The topic without the words that make it a question. */
function subjectOf(topic: string): string {
  const subject = topic.replace(/^what do(?:es)? (.+) mean\??$/i, '$1').replace(questionStart, '');
  return trimPhrase(subject.replace(/^(?:the|a|an)\s+/i, '')) || topic;
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
  return [...countWords([text])].sort(([, left], [, right]) => right - left).map(([word]) => word);
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
