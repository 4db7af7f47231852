import { isDeepStrictEqual } from 'node:util';
import type { Tool, ToolContext } from '@trunkline/llm';
import { textSize, visibleLine, visibleText } from '../text/visible-text.ts';
import { readVerdict } from './answer.ts';
import type { ScriptFile } from './script-files.ts';

/** What an approval is for: exactly this text, in this directory, with these scripts, once. */
export interface ApprovalSubject {
  /** What is asked, as a question in one line. */
  title: string;
  /** What the text is: "command" or "task". */
  noun: string;
  text: string;
  directory: string;
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
  const verdict = readVerdict(answer);
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
  const { title, noun, text, directory, files, directoryState } = subject;
  const scripts = files.map(
    ({ path, sha256 }) => `Runs ${visibleLine(path)} (SHA-256 ${sha256.slice(0, 16)}…)`,
  );
  return [
    title,
    `The ${noun} (${textSize(text)}):`,
    visibleText(text),
    `Directory: ${visibleLine(directory)}`,
    ...scripts,
    ...(directoryState === undefined
      ? []
      : ['It is asked again if a file in the directory changes before it runs.']),
  ].join('\n');
}
