import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Tool, ToolContext } from '@trunkline/llm';
import { systemCode } from '@trunkline/std';
import { textSize, visibleLine, visibleText } from '../text/split-message.ts';
import type { ScriptFile } from './script-files.ts';

const MAX_ENTRIES = 50_000;

/** Services write these all the time. One that a command names is among its scripts. */
const RECORDS = /\.(?:db|sqlite3?)(?:-wal|-shm|-journal)?$|\.(?:log|jsonl)$/;

const YES =
  /^(?:y|yes|yep|yeah|ja|jawohl|oui|si|ok|okay|sure|certainly|of course|absolutely|approve|approved|approved it|i approve|allow|allowed|granted|confirmed|please do|do it|do that|do so|run it|go|go ahead|go on|go for it|fine|alright|all right|you may|please)$/;

const NO =
  /^(?:n|no|nope|nah|nein|non|never|deny|denied|refuse|refused|reject|rejected|stop|cancel|abort|forbid|forbidden|do not|dont|do not do it|dont do it|please dont|please do not|no way|rather not|id rather not|better not|not now|not yet|no thanks|no thank you)$/;

/** Says how, not whether. */
const COURTESY = /^(?:please|thanks|thank you|danke|bitte|then|now)$/;

/** What an approval is for: exactly this text, in this directory, with these scripts, once. */
export interface ApprovalSubject {
  /** What is asked, as a question in one line. */
  title: string;
  /** What the text is: "command" or "task". */
  noun: string;
  text: string;
  /** Empty where it has none. */
  directory: string;
  /** Why it is asked, where that is not plain from the question. */
  reason?: string;
  /** The rule of the policy that asks. */
  rule?: string;
  /** The scripts that it runs. */
  files: readonly ScriptFile[];
  /** Of everything in the directory, where no file in it may change before the work is done. */
  directoryState?: string;
}

export interface ApprovedContext extends ToolContext {
  /** What was approved. */
  subject: ApprovalSubject;
}

/** A tool that does nothing until somebody who may has approved it: calling it parks the task. */
export interface ApprovedTool {
  tool: Tool;
  /** What this input asks for, as the disk stands now; undefined where it needs no approval. */
  subject(input: unknown): Promise<ApprovalSubject | undefined>;
  /** Does the work; its text is the result of the call. */
  approve(input: unknown, context: ApprovedContext): Promise<string>;
}

/** The result of approved work, or the new subject where a script was changed since it was approved. */
export type ApprovedResult = { result: string } | { changed: ApprovalSubject };

/** Looks once more at what was approved, and does it only if it is still the same. */
export async function runApproved(
  { subject, approve }: ApprovedTool,
  input: unknown,
  context: ApprovedContext,
): Promise<ApprovedResult> {
  const now = await subject(input);
  if (now === undefined) return { result: 'Error: this needs no approval any more. Call it again.' };
  if (!isDeepStrictEqual(now, context.subject)) return { changed: now };
  return { result: await approve(input, context) };
}

/** For callers who can ask once only: the result of the work, or why it was not done. */
export async function answerApproval(
  tool: ApprovedTool,
  input: unknown,
  answer: string,
  context: ApprovedContext,
): Promise<string> {
  const verdict = readVerdict(readScope(answer).answer);
  if (verdict === 'no') return notApproved(answer);
  if (verdict === 'unclear') return `Error: it was not approved: "${answer}" is neither a yes nor a no.`;
  const outcome = await runApproved(tool, input, context);
  return 'result' in outcome ? outcome.result : `Error: ${changedWords(outcome.changed, context.subject)}`;
}

export function notApproved(answer: string): string {
  return `Error: the person did not approve it and said: ${answer}`;
}

/** Which scripts are other than approved. */
export function changedWords(now: ApprovalSubject, approved: ApprovalSubject): string {
  const before = new Map(approved.files.map(({ path, sha256 }) => [path, sha256]));
  const changed = now.files.filter(({ path, sha256 }) => before.get(path) !== sha256).map(({ path }) => path);
  const gone = [...before.keys()].filter((path) => !now.files.some((file) => file.path === path));
  const names = [...changed, ...gone].map(visibleLine).join(', ') || 'a file in the directory';
  return `it was not run, because ${names} changed after it was shown for approval.`;
}

/** What somebody reads before they approve, whole and with nothing hidden. */
export function approvalText(subject: ApprovalSubject): string {
  const { title, noun, text, directory, reason, rule, files, directoryState } = subject;
  const scripts = files.map(
    ({ path, sha256 }) => `Runs ${visibleLine(path)} (SHA-256 ${sha256.slice(0, 16)}…)`,
  );
  return [
    title,
    `The ${noun} (${textSize(text)}):`,
    visibleText(text),
    ...(reason === undefined ? [] : [`Asked because ${visibleLine(reason)}.`]),
    ...(rule === undefined ? [] : [`Decided by ${rule}.`]),
    ...(directory === '' ? [] : [`Directory: ${visibleLine(directory)}`]),
    ...scripts,
    ...(directoryState === undefined
      ? []
      : ['It is asked again if a file in the directory changes before it runs.']),
  ].join('\n');
}

/** How far a yes goes: for this call, for calls like it in this task, or for all like it from now on. */
export type ApprovalScope = 'once' | 'task' | 'always';

/** Reads "yes, for this task" and "always" as a yes with its scope; any other answer is for once. */
export function readScope(answer: string): { answer: string; scope: ApprovalScope } {
  const found = /[\s,]*\b(?:(?:for|in) this (task)|(always)(?: for this pattern)?)[\s.!]*$/i.exec(answer);
  if (found === null) return { answer, scope: 'once' };
  return { answer: answer.slice(0, found.index).trim() || 'yes', scope: found[1] ? 'task' : 'always' };
}

export type Verdict = 'yes' | 'no' | 'unclear';

/**
 * What somebody answered to a request for approval. Each phrase of it must say the same; a condition, a question or
 * anything else is unclear and has to be asked again. A no that gives a reason is a no.
 */
export function readVerdict(answer: string): Verdict {
  const text = answer.toLowerCase().replace(/[’']/g, '').replace(/\s+/g, ' ').trim();
  if (/^(?:no|nope|nein|deny|denied|refuse|reject|do not|dont|stop|cancel)\b/.test(text)) return 'no';
  if (NO.test(text.replace(/[.!,]+$/, ''))) return 'no';
  if (text.includes('?')) return 'unclear';
  return phrasesOf(text).some(isAllYes) ? 'yes' : 'unclear';
}

/** The text cut into phrases at its signs, and at every space where it is a chain such as "ok do it" or "yes please". */
function phrasesOf(text: string): string[][] {
  const signs = text
    .split(/[.!,;]+/)
    .map((phrase) => phrase.trim())
    .filter((phrase) => phrase !== '');
  return [signs, signs.flatMap(chainOf)];
}

/** Splits a phrase into the longest known ones, from the left. */
function chainOf(phrase: string): string[] {
  const words = phrase.split(' ');
  const chain: string[] = [];
  while (words.length > 0) {
    const size = words.findLastIndex((_, end) => isKnown(words.slice(0, end + 1).join(' '))) + 1;
    chain.push(words.splice(0, Math.max(size, 1)).join(' '));
  }
  return chain;
}

function isKnown(phrase: string): boolean {
  return YES.test(phrase) || NO.test(phrase) || COURTESY.test(phrase);
}

function isAllYes(phrases: readonly string[]): boolean {
  return (
    phrases.some((phrase) => YES.test(phrase) && phrase !== 'please') &&
    phrases.every((phrase) => YES.test(phrase) || COURTESY.test(phrase))
  );
}

/**
 * A digest of every file below a directory by name, size and time of change: which scripts a command runs cannot always
 * be read from its words (wildcards, variables, scripts that call scripts). Beyond 50,000 entries it covers those that
 * come first, and how many there are. Databases and logs are left out.
 */
export async function directoryState(directory: string): Promise<string> {
  const hash = createHash('sha256');
  const waiting = [''];
  let count = 0;
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const entries = await entriesOf(join(directory, folder));
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isFile() && RECORDS.test(entry.name)) continue;
      const path = join(folder, entry.name);
      count += 1;
      if (count > MAX_ENTRIES) continue;
      if (entry.isDirectory()) waiting.push(path);
      else hash.update(`${path}\0${await factsOf(join(directory, path))}\0`);
    }
  }
  return hash.update(String(count)).digest('hex');
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** The time of the last change of an inode cannot be set by a program, unlike that of its content. */
async function factsOf(path: string): Promise<string> {
  try {
    const { size, ctimeNs, ino, mode } = await lstat(path, { bigint: true });
    return `${size} ${ctimeNs} ${ino} ${mode}`;
  } catch (error) {
    if (isGone(error)) return 'gone';
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return /^(?:ENOENT|ENOTDIR|EACCES|EPERM)$/.test(systemCode(error) ?? '');
}
