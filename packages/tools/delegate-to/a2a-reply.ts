import type { GuardedResponse } from '@trunkline/http';
import { z } from 'zod';
import { DelegateError } from './delegate.ts';

export interface A2aReply {
  text: string;
  /** Set when the other agent waits for an answer. */
  parked?: { taskId: string; contextId: string | undefined };
}

const parts = z.array(z.object({ text: z.string().optional() }).loose()).default([]);
const message = z.object({ parts }).loose();
const task = z.object({
  kind: z.literal('task'),
  id: z.string(),
  contextId: z.string().optional(),
  status: z.object({ state: z.string(), message: message.nullish() }).loose(),
  artifacts: z.array(z.object({ parts }).loose()).nullish(),
});
const envelope = z.union([
  z.object({ error: z.object({ message: z.string() }).loose() }),
  z.object({ result: z.union([task, message.extend({ kind: z.literal('message') })]) }),
]);

/** What an agent answered to `message/send`, or a `DelegateError`. */
export function readReply(name: string, response: GuardedResponse): A2aReply {
  if (response.status === 401 || response.status === 403)
    throw new DelegateError('delegate_refused', `${name} refuses the key it was given.`);
  const parsed = envelope.safeParse(parseJson(response.text()));
  if (!parsed.success)
    throw new DelegateError('delegate_failed', `${name} gave an answer that cannot be read.`);
  if ('error' in parsed.data)
    throw new DelegateError('delegate_refused', `${name} refused: ${parsed.data.error.message}`);
  const { result } = parsed.data;
  return result.kind === 'message' ? { text: textOf([result]) } : replyOfTask(name, result);
}

function replyOfTask(name: string, { id, contextId, status, artifacts }: z.output<typeof task>): A2aReply {
  const said = textOf([status.message ?? { parts: [] }]);
  switch (status.state) {
    case 'completed':
      return { text: textOf(artifacts ?? []) || said };
    case 'input-required':
      return { text: said, parked: { taskId: id, contextId } };
    case 'failed':
    case 'rejected':
    case 'canceled':
      throw new DelegateError('delegate_failed', `${name} did not finish: ${said || status.state}.`);
    default:
      throw new DelegateError('delegate_silent', `${name} has begun but gave no answer yet.`);
  }
}

function textOf(holders: readonly z.output<typeof message>[]): string {
  return holders
    .flatMap((holder) => holder.parts.map(({ text }) => text ?? ''))
    .filter((text) => text !== '')
    .join('\n');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
