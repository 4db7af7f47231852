import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Tool, ToolContext } from '@trunkline/llm';
import { type ApprovalView, readVerdict, systemCode } from '@trunkline/std';
import { textSize, visibleLine, visibleText } from '../text/split-message.ts';
import type { ScriptFile } from './script-files.ts';

const MAX_ENTRIES = 50_000;

/** Services write these all the time. One that a command names is among its scripts. */
const RECORDS = /\.(?:db|sqlite3?)(?:-wal|-shm|-journal)?$|\.(?:log|jsonl)$/;

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

/** The same for a page, which lays it out itself. */
export function approvalView(id: string, subject: ApprovalSubject): ApprovalView {
  const { text } = subject;
  return { id, ...subject, shown: visibleText(text), size: textSize(text) };
}

/** How far a yes goes: for this call, for calls like it in this task, or for all like it from now on. */
export type ApprovalScope = 'once' | 'task' | 'always';

/** Below a question that takes an answer with a scope. Rules are the operator's. */
export const HOW_TO_ANSWER =
  'Answer yes, yes for this task, always (from anybody but the operator it counts for this task), or no.';

/** Reads "yes, for this task" and "always" as a yes with its scope; any other answer is for once. */
export function readScope(answer: string): { answer: string; scope: ApprovalScope } {
  const found = /(?<![\s,])[\s,]*\b(?:(?:for|in) this (task)|(always)(?: for this pattern)?)[\s.!]*$/i.exec(
    answer,
  );
  if (found === null) return { answer, scope: 'once' };
  return { answer: answer.slice(0, found.index).trim() || 'yes', scope: found[1] ? 'task' : 'always' };
}

/**
 * A digest of every file below a directory by name, size and time of change: which scripts a command runs cannot always
 * be read from its words (wildcards, variables, scripts that call scripts). Beyond 50,000 entries it covers those that
 * come first, and how many there are. Databases and logs are left out.
 */
export async function directoryState(directory: string): Promise<string> {
  const hash = createHash('sha256');
  const { files, count } = await filesBelow(directory, (name) => RECORDS.test(name));
  for (const [path, facts] of files) hash.update(`${path}\0${facts}\0`);
  return hash.update(String(count)).digest('hex');
}

/** The files below a directory, with what tells whether one has changed; the first 50,000 entries at most. */
export async function filesBelow(
  directory: string,
  isLeftOut: (name: string) => boolean = () => false,
): Promise<{ files: ReadonlyMap<string, string>; count: number; isCut: boolean }> {
  const files = new Map<string, string>();
  const waiting = [''];
  let count = 0;
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const entries = await entriesOf(join(directory, folder));
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isFile() && isLeftOut(entry.name)) continue;
      const path = join(folder, entry.name);
      count += 1;
      if (count > MAX_ENTRIES) continue;
      if (entry.isDirectory()) waiting.push(path);
      else files.set(path, await factsOf(join(directory, path)));
    }
  }
  return { files, count, isCut: count > MAX_ENTRIES };
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
