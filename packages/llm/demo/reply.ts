import { suggestions } from '@trunkline/std';
import { foundNothingOffline } from './intents/basics.ts';
import { cancelListed } from './intents/schedule.ts';
import { intents, recognise } from './intents/table.ts';
import type { Call, DemoRequest, OfferedTool, Outcome, Situation } from './request.ts';
import { callOf, choicesOf, fillSchema, offeredCall } from './schema.ts';
import { salientSentences, summarise } from './summary.ts';
import { capitalise, clausesOf, sentencesOf, stagesOf, trimPhrase } from './text.ts';
import { compose } from './tool-results.ts';
import { topicOf } from './topic.ts';

const naming =
  /\b(?:use|call|run|invoke)\s+(?:the\s+)?tool\s+[`"']?([\w.:/-]*\w)[`"']?(?:\s+(?:with|on|using)(?:\s+(?:arguments|input))?:?\s*(?=\{))?/gi;

/** Shown to somebody who did not ask for help. */
const fewExamples = 5;

/** Wishes stand at the beginning; what follows is text, in which looking for them would only cost time. */
const longestMessage = 4000;

const mark = /\[\[call (\d+)\]\]/g;

/** Said once in a conversation, so that nobody takes the demo for a real model; short, because calls speak it. */
export const demoNotice = 'I am the offline demo model; choose a real one at /setup.';

const phrases: [RegExp, string][] = [
  [/^(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)\b/i, 'Hello. What can I do for you?'],
  [/^(?:thanks|thank you|cheers|great|perfect|nice|ok|okay)\b/i, 'You are welcome.'],
  [/^(?:bye|goodbye|see you|good night)\b/i, 'Goodbye.'],
  [/\bhow are you\b|\bhow do you do\b/i, 'I am running fine. What can I do for you?'],
  [
    /\b(?:who|what) are you\b|\byour name\b|\bare you (?:an? )?(?:ai|bot|human|real)\b/i,
    'I follow fixed rules instead of thinking, but the tools I call are real.',
  ],
];

/** How the agent service asks to go on with a goal. */
const goalReminder = /^The goal is not reached yet:/;
const noProgress =
  'I follow fixed rules, so I cannot work towards a goal by myself; a real model goes on until the check succeeds.';
const noChange = 'Nothing has changed since the last check.';
const noJudgement = 'NO. The offline demo model cannot judge whether a goal is reached.';

/** What the model does in one step: call tools, or speak. */
export interface Reply {
  calls: Call[];
  text: string;
}

/** Wishes of one stage of a message: calls to make and things to say. */
interface Plan {
  calls: Call[];
  remarks: string[];
}

const questionTools = new Set(['ask_human', 'askClarification', 'request_user_input']);

export function decide(request: DemoRequest, now: Date): Reply {
  if (request.format?.type === 'json') return speak(jsonAnswer(request));
  if (/\bBegin your answer with YES or NO\b/.test(request.system)) return speak(noJudgement);
  if (goalReminder.test(request.userText)) return speak(introduced(progressOn(request), request));
  const worked = request.steps.length === 0 ? workOnText(request) : undefined;
  if (worked !== undefined) return speak(request.tools.size === 0 ? worked : introduced(worked, request));
  const plans = plansOf(request, now);
  const stage = plans.filter(({ calls }) => calls.length > 0)[request.steps.length];
  const isUnderstood = plans.some((plan) => plan.calls.length + plan.remarks.length > 0);
  const calls =
    stage?.calls ??
    followUp(request, now) ??
    nextLookUp(request, now) ??
    forced(request) ??
    (isUnderstood ? undefined : (searchForIt(request) ?? handOn(request)));
  if (calls !== undefined) return { calls, text: '' };
  const said = [
    ...(request.steps.flat().length > 0 ? [compose(request.steps.flat())] : []),
    ...plans.flatMap(({ remarks }) => remarks),
  ];
  return speak(introduced(said.length > 0 ? said.join(' ') : talk(request), request));
}

/** Says once why the work does not get on; the agent service asks again after each check. */
function progressOn({ history }: DemoRequest): string {
  const said = history.endsWith(demoNotice) ? history.slice(0, -demoNotice.length).trimEnd() : history;
  return said.endsWith(noProgress) || said.endsWith(noChange) ? noChange : noProgress;
}

function speak(text: string): Reply {
  return { calls: [], text };
}

function introduced(text: string, { spoken }: DemoRequest): string {
  return spoken.includes(demoNotice) ? text : `${text}\n\n${demoNotice}`;
}

function jsonAnswer({ format, userText }: DemoRequest): string {
  const schema = format?.type === 'json' ? format.schema : undefined;
  const standard = { type: 'object', properties: { text: { type: 'string' } } } as const;
  return JSON.stringify(fillSchema(schema ?? standard, { name: '', text: userText }));
}

function plansOf(request: DemoRequest, now: Date): Plan[] {
  const marked = markOutrightCalls(request.userText, request.tools);
  const { tools, system } = request;
  const situation = { tools, now, zone: zoneIn(system), previous: previousResult(request.steps) };
  return stagesOf(marked.text).map((stage) => planOf(stage, marked, situation));
}

/** As the agent service names it in its instructions. */
function zoneIn(system: string): string | undefined {
  return /The person's time zone is ([\w+\-/]+):/.exec(system)?.[1];
}

function planOf(stage: string, marked: Marked, situation: Situation): Plan {
  const { wishes, rest } = takeMarks(stage, marked);
  const clauses = clausesOf(rest, (clause) => recognise(clause, situation) !== undefined);
  const found: (Call | string)[] = [...wishes, ...clauses.flatMap((clause) => wishesOf(clause, situation))];
  return {
    calls: distinct(found.filter((wish) => typeof wish !== 'string')),
    remarks: found.filter((wish) => typeof wish === 'string'),
  };
}

function wishesOf(clause: string, situation: Situation): (Call | string)[] {
  const found = recognise(clause, situation) ?? [];
  return typeof found === 'string' ? [found] : found;
}

function distinct(calls: Call[]): Call[] {
  return [...new Map(calls.map((call) => [JSON.stringify(call), call])).values()];
}

function previousResult(steps: Outcome[][]): string {
  return (
    steps
      .at(-1)
      ?.map(({ result }) => result)
      .join('\n') ?? ''
  );
}

/** An answered question may complete the wish: "remind me to stretch" and "in 5 minutes". */
function followUp(request: DemoRequest, now: Date): Call[] | undefined {
  const { steps, tools, userText, system } = request;
  const answers = steps.at(-1)?.filter(({ tool }) => questionTools.has(tool)) ?? [];
  if (answers.length === 0) return undefined;
  const wish = `${userText.slice(0, longestMessage).trim()} ${answers.map(({ result }) => result).join(' ')}`;
  const found = recognise(wish, { tools, now, zone: zoneIn(system), previous: '' });
  return Array.isArray(found) && found.every(({ tool }) => !questionTools.has(tool)) ? found : undefined;
}

/** What the step before leads to: the web after an empty look-up, and cancelling after the list of jobs. */
function nextLookUp({ steps, tools, userText }: DemoRequest, now: Date): Call[] | undefined {
  const last = steps.at(-1) ?? [];
  const situation = { tools, now, previous: '' };
  const empty = last.filter(({ tool, result }) => tool === 'look_up' && foundNothingOffline(result));
  const searches = empty.flatMap(
    ({ input }) => offeredCall('web_search', { query: input.query }, situation) ?? [],
  );
  if (searches.length > 0) return searches;
  const listed = last.find(({ tool }) => tool === 'list_schedules')?.result;
  const [clause = ''] = clausesOf(userText.slice(0, longestMessage), () => false);
  const cancelled = listed === undefined ? undefined : cancelListed(clause, listed, situation);
  return Array.isArray(cancelled) ? cancelled : undefined;
}

/** Where the agent service is a delegate, it gets what is not understood here: it has more tools. */
function handOn(request: DemoRequest): Call[] | undefined {
  const tool = request.tools.get('delegate_to');
  if (tool === undefined || request.steps.length > 0 || plainAnswer(request) !== undefined) return undefined;
  const query = request.userText.trim();
  return choicesOf(tool, 'target').includes('agent') && query !== ''
    ? [callOf(tool, { target: 'agent', query })]
    : undefined;
}

/** The call that the request insists on, when no wish led to one. */
function forced({ choice, steps, tools, userText }: DemoRequest): Call[] | undefined {
  if (steps.length > 0) return undefined;
  const name =
    choice.type === 'tool' ? choice.toolName : choice.type === 'required' ? [...tools.keys()][0] : undefined;
  const tool = name === undefined ? undefined : tools.get(name);
  return tool === undefined ? undefined : [callOf(tool, {}, userText)];
}

/** In a chat that is there for searching, words that mean nothing else are what to search for. */
function searchForIt(request: DemoRequest): Call[] | undefined {
  const tool = request.tools.get('searchWeb');
  const query = trimPhrase(request.userText);
  if (tool === undefined || query === '' || request.steps.length > 0) return undefined;
  return plainAnswer(request) === undefined ? [callOf(tool, { query })] : undefined;
}

/** An answer to a message that asks for no tool. */
function talk(request: DemoRequest): string {
  return plainAnswer(request) ?? `I found nothing in that I can act on. ${help(request, fewExamples)}`;
}

/** An answer to a message that is clear in itself; undefined for any other. */
function plainAnswer(request: DemoRequest): string | undefined {
  const text = request.userText.trim();
  const reminder = /^Reminder: (.+)$/s.exec(text)?.[1];
  if (reminder !== undefined) return `Here is your reminder: ${trimPhrase(reminder)}.`;
  if (/\bwhat can you do\b|^help\b|\bwhat (?:tools|skills) do you have\b|\bhow can you help\b/i.test(text))
    return help(request);
  const phrase = phrases.find(([pattern]) => pattern.test(text))?.[1];
  if (phrase !== undefined) return phrase;
  return sentencesOf(text).length >= 4 ? `In short: ${summarise(text, { sentences: 2 })}` : undefined;
}

function help({ tools }: DemoRequest, most = Number.POSITIVE_INFINITY): string {
  const situation = { tools, now: new Date(0), previous: '' };
  // Only what leads to a call here is suggested: research, say, may not be among the delegates.
  const possible = intents.flatMap(({ examples, recognise: leadsTo }) =>
    examples.filter((example) => Array.isArray(leadsTo(example, situation))),
  );
  const lines = [
    ...possible.map((example) => `- ${example}`),
    ...(tools.has('calculator') ? [`- ${suggestions.tool}`] : []),
    '- Summarise this in two sentences: <text>',
  ];
  const more = lines.length > most ? ['', 'Say "help" for all examples.'] : [];
  return ['You can say, for example:', ...lines.slice(0, most), ...more].join('\n');
}

/** A message in which every "use tool X with {json}" is replaced by a mark that stands for its call. */
interface Marked {
  text: string;
  /** The call behind each mark, or words about a tool that is not there or arguments that cannot be read. */
  wishes: (Call | string)[];
}

function markOutrightCalls(text: string, tools: ReadonlyMap<string, OfferedTool>): Marked {
  const marked: Marked = { text: '', wishes: [] };
  let end = 0;
  for (const match of text.matchAll(naming)) {
    if (match.index < end) continue;
    if (marked.text.length > longestMessage) break;
    const start = match.index + match[0].length;
    const json = jsonAt(text, start);
    marked.text += `${text.slice(end, match.index)}[[call ${marked.wishes.length}]]`;
    marked.wishes.push(wishOf(match[1] ?? '', json, tools));
    end = start + json.length;
  }
  marked.text = (marked.text + text.slice(end)).slice(0, longestMessage);
  return marked;
}

/** The wishes marked in a part of the message, and that part without the marks. */
function takeMarks(part: string, { wishes }: Marked): { wishes: (Call | string)[]; rest: string } {
  const found = [...part.matchAll(mark)].flatMap((match) => wishes[Number(match[1])] ?? []);
  return { wishes: found, rest: part.replace(mark, '. ').replace(/^[\s.]+/, '') };
}

function wishOf(name: string, json: string, tools: ReadonlyMap<string, OfferedTool>): Call | string {
  const tool = tools.get(name);
  if (tool === undefined) {
    const known = tools.size === 0 ? 'no tools at all' : [...tools.keys()].join(', ');
    return `I have no tool named "${name}" here. I have: ${known}.`;
  }
  if (json === '') return callOf(tool, {});
  const input = parseObject(json);
  return input === undefined
    ? `The arguments for ${name} are not valid JSON, so I did not call it.`
    : { tool: name, input };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** The text of the JSON object that starts here, braces inside strings not counted; empty when none starts. */
function jsonAt(text: string, start: number): string {
  if (text[start] !== '{') return '';
  let depth = 0;
  for (const token of text.slice(start).matchAll(/"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|[{}]/g)) {
    if (token[0] === '{') depth += 1;
    if (token[0] === '}') depth -= 1;
    if (depth === 0) return text.slice(start, start + token.index + 1);
  }
  return text.slice(start);
}

const summaryWish =
  /\b(?:summari[sz]\w*|summary|condense|compress|distil\w*|digest|key (?:points|facts|findings?)|extract|tl;?dr|gist|answer (?:the |each )?(?:user's |following )?question\w* (?:using|from|based|with))\b/i;
const reportWish =
  /\b(?:write|compose|draft|produce|synthesi[sz]e)\b[^.\n]*\b(?:report|synthesis|briefing|article|overview)\b/i;
const conversationWish = /\bsummari[sz]e\b.*\b(?:conversation|chat|discussion)\b/i;
/** A shorter text is a message to answer, not a text to work on. */
const shortestText = 120;

/** Work on a given text: a report or a summary, or nothing when the request is a conversation. */
function workOnText(request: DemoRequest): string | undefined {
  const { system, userText, tools, history } = request;
  if (userText.length < shortestText && history !== '' && conversationWish.test(userText)) {
    return summarise(history, { sentences: sentenceCount(userText, history) });
  }
  const [head, body] = headAndBody(userText);
  const given = tools.size === 0 && userText.length >= shortestText;
  const isWorth = body.length >= shortestText || (given && body !== '');
  const ordered = isWorth && (reportWish.test(head) || summaryWish.test(head));
  const instruction = ordered ? head : given ? firstSentences(system) : '';
  const text = ordered ? body : userText;
  if (reportWish.test(instruction)) return report(userText, text);
  return summaryWish.test(instruction) ? summary(`${instruction}\n${head}`, userText, text) : undefined;
}

/** The first paragraph or the part before the colon holds the order; the rest is the text. */
function headAndBody(text: string): [string, string] {
  const end = /:\s|\n/.exec(text);
  if (end === null) return [firstSentences(text), ''];
  return [firstSentences(text.slice(0, end.index)), text.slice(end.index + 1).trim()];
}

function firstSentences(text: string): string {
  return text.slice(0, 600);
}

function summary(instruction: string, asked: string, text: string): string {
  const options = { sentences: sentenceCount(instruction, text), focus: topicOf(asked) };
  if (!/\b(?:bullets?|bullet points|list)\b/i.test(instruction)) return summarise(text, options);
  return salientSentences(text, options)
    .map((sentence) => `- ${sentence}`)
    .join('\n');
}

const numbers: Record<string, number> = {
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
};

/** As many sentences as asked for, else one in six, between 3 and 12. */
function sentenceCount(instruction: string, text: string): number {
  const asked =
    /\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten)\s+(?:short\s+)?(?:sentences?|bullets?|bullet points|points|lines)\b/i.exec(
      instruction,
    )?.[1];
  if (/\ba (?:single )?sentence\b/i.test(instruction)) return 1;
  if (asked !== undefined) return numbers[asked.toLowerCase()] ?? Number(asked);
  return Math.min(12, Math.max(3, Math.ceil(sentencesOf(text).length / 6)));
}

/** A report in Markdown: the gist first, then a section for each heading of the material. */
function report(asked: string, material: string): string {
  const topic = topicOf(asked);
  const gist = summarise(material, { sentences: 3, focus: topic });
  const sections = sectionsOf(material).flatMap(({ heading, text }) => {
    const body = summarise(text, { sentences: 4, focus: `${topic} ${heading}` });
    return body === '' ? [] : [`## ${capitalise(heading)}\n\n${body}`];
  });
  return [`# ${capitalise(topic)}`, gist, ...sections].filter(Boolean).join('\n\n');
}

function sectionsOf(material: string): { heading: string; text: string }[] {
  const parts = material.split(/^(?:#{1,4}\s+|Dimension(?: \d+)?:\s*)(.+)$/im);
  const headed = parts
    .slice(1)
    .flatMap((heading, index) =>
      index % 2 === 0 ? [{ heading: heading.trim(), text: parts[index + 2] ?? '' }] : [],
    );
  return headed.length > 0 ? headed : [{ heading: 'Findings', text: material }];
}
