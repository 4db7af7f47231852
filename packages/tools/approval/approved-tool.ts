import type { Tool } from '@trunkline/llm';

/** A tool that does nothing until a person has said yes: calling it parks the task with its question. */
export interface ApprovedTool {
  tool: Tool;
  question(input: unknown): string;
  /** Does the work; its text is the result of the call. */
  approve(input: unknown, signal: AbortSignal): Promise<string>;
  /** Whether a person has said yes to the very same input before, since the service started. */
  wasApproved?(input: unknown): boolean;
}

/** The result of a parked call, once the person has answered; undefined when the call was no request for approval. */
export async function answerApproval(
  tools: readonly ApprovedTool[],
  call: { name: string; input: unknown },
  answer: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const approved = tools.find(({ tool }) => tool.name === call.name);
  if (approved === undefined) return undefined;
  if (!isYes(answer)) return `Error: the person did not approve it and said: ${answer}`;
  return await approved.approve(call.input, signal);
}

/** Only a plain yes counts; anything with a condition is a no. */
function isYes(answer: string): boolean {
  return /^(?:y|yes|ok|okay|approve|approved|allow|go ahead|do it|ja)[.! ]*$/i.test(answer.trim());
}
