/** One line of the chat stream: a prefix that says what it is, and JSON. */
function line(prefix: string, value: unknown): string {
  return `${prefix}:${JSON.stringify(value)}\n`;
}

export interface TokenUse {
  inputTokens: number;
  outputTokens: number;
}

export interface ToolCallLine {
  toolName: string;
  args: unknown;
  result: unknown[];
  error?: string;
  /** Which services could not be asked so far, in words. */
  troubles?: string[];
}

/** The lines that a chat stream is made of. */
export const lines = {
  text: (text: string) => line('0', text),
  toolCall: (call: ToolCallLine) => line('2', [{ type: 'tool_call', ...call }]),
  clarification: (question: string) => line('8', [{ type: 'clarification', question }]),
  finish: (finishReason: string, { inputTokens, outputTokens }: TokenUse) =>
    line('d', { finishReason, usage: { promptTokens: inputTokens, completionTokens: outputTokens } }),
  error: (message: string) => line('e', { finishReason: 'error', message }),
};
