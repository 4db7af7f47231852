import { randomUUID } from 'node:crypto';
import type { Origin } from '@trunkline/identity';
import { markOf } from '@trunkline/loop';
import type { ToolOutcome } from '../../delivery/delivery.ts';
import type { ModelMessage } from '../../turn/persona.ts';
import { stillRunning } from './tool-runs.ts';

interface Step {
  text: string;
  calls: TranscriptCall[];
}

interface TranscriptCall {
  toolCallId: string;
  name: string;
  input: unknown;
  result: string | undefined;
  /** It goes on when the reply is stopped. */
  goesOn: boolean;
  /** Where the result came from, when from outside the operator's trust. */
  origins?: readonly Origin[] | undefined;
}

const longestResult = 4000;
const stopped = 'Error: stopped, because the user went on.';

/** What a reply consists of so far: texts, and the tool calls between them. */
export class ReplyTranscript {
  readonly #steps: Step[] = [];

  /** The text of all steps, as it is spoken. */
  text = '';

  addText(text: string): void {
    this.text += text;
    const last = this.#steps.at(-1);
    if (last === undefined || last.calls.length > 0) this.#steps.push({ text: text.trimStart(), calls: [] });
    else last.text += text;
  }

  addCall(toolCallId: string, name: string, input: unknown): void {
    const last = this.#steps.at(-1);
    // Calls of one step start before any of them ends.
    const open = last?.calls.every(({ result }) => result === undefined) ? last : undefined;
    const step = open ?? { text: '', calls: [] };
    if (open === undefined) this.#steps.push(step);
    step.calls.push({ toolCallId, name, input, result: undefined, goesOn: false });
  }

  /** A tool that may change something was started; stopping the reply does not stop it. */
  markStarted(toolCallId: string): void {
    const call = this.#calls.find((known) => known.toolCallId === toolCallId);
    if (call !== undefined) call.goesOn = true;
  }

  addResult(toolCallId: string, result: string, origins?: readonly Origin[]): void {
    const call = this.#calls.find((known) => known.toolCallId === toolCallId);
    if (call !== undefined) Object.assign(call, { result: result.slice(0, longestResult), origins });
  }

  /** Whether a tool gave a result. */
  get hasResults(): boolean {
    return this.#calls.some(({ result }) => result !== undefined);
  }

  /** Whether a tool was started that may change something. */
  get hasStarted(): boolean {
    return this.#calls.some(({ goesOn }) => goesOn);
  }

  /** Calls that still run. */
  get openCalls(): Pick<TranscriptCall, 'toolCallId' | 'name' | 'goesOn'>[] {
    return this.#calls.filter(({ result }) => result === undefined);
  }

  get #calls() {
    return this.#steps.flatMap(({ calls }) => calls);
  }

  /** The reply for the history: of the text only the characters that were heard. */
  messages(heard: number): ModelMessage[] {
    let left = this.text.slice(0, heard);
    return this.#steps.flatMap((step) => {
      left = left.trimStart();
      const text = step.text.slice(0, left.length).trimEnd();
      left = left.slice(step.text.length);
      return stepMessages(step, text);
    });
  }
}

function stepMessages({ calls }: Step, text: string): ModelMessage[] {
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
  const called = calls.map(({ toolCallId, name, input }) => ({
    type: 'tool-call' as const,
    toolCallId,
    toolName: name,
    input,
  }));
  const results = calls.map(({ toolCallId, name, result, goesOn, origins }) => ({
    type: 'tool-result' as const,
    toolCallId,
    toolName: name,
    output: { type: 'text' as const, value: result ?? (goesOn ? stillRunning : stopped) },
    ...markOf(origins),
  }));
  const spoken = text === '' ? [] : [{ type: 'text' as const, text }];
  return [
    { role: 'assistant', content: [...spoken, ...called] },
    { role: 'tool', content: results },
  ];
}

/** A late result, as a call that was made just now. */
export function outcomeMessages({ name, input, result, origins }: ToolOutcome): ModelMessage[] {
  const call = { toolCallId: `call_${randomUUID()}`, name, input, goesOn: false, origins };
  return stepMessages({ text: '', calls: [{ ...call, result: result.slice(0, longestResult) }] }, '');
}
