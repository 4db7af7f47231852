import type { DemoRequest } from './request.ts';
import { salientSentences, summarise } from './summary.ts';
import { capitalise, sentencesOf } from './text.ts';
import { topicOf } from './topic.ts';

const summaryWish =
  /\b(?:summari[sz]\w*|summary|condense|compress|distil\w*|digest|key (?:points|facts|findings?)|extract|tl;?dr|gist|answer (?:the |each )?(?:user's |following )?question\w* (?:using|from|based|with))\b/i;
const reportWish =
  /\b(?:write|compose|draft|produce|synthesi[sz]e)\b[^.\n]*\b(?:report|synthesis|briefing|article|overview)\b/i;
const conversationWish = /\bsummari[sz]e\b.*\b(?:conversation|chat|discussion)\b/i;
/** A shorter text is a message to answer, not a text to work on. */
const shortestText = 120;

/** Work on a given text: a report or a summary, or nothing when the request is a conversation. */
export function workOnText(request: DemoRequest): string | undefined {
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
