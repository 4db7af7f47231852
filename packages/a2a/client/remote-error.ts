import type { RemoteAgent } from './remote-agent.ts';

const words = {
  agent_unreachable: (name: string) => `The agent ${name} could not be reached.`,
  agent_timeout: (name: string) => `The agent ${name} did not answer in time.`,
  agent_unauthorized: (name: string) => `The agent ${name} did not accept our credentials.`,
  agent_unknown_caller: (name: string) =>
    `The agent ${name} answers only callers it knows, and whoever asks here showed no key. The operator can sign in with "npx trunkline login", or give callers a key of their own, for voice in users.yaml.`,
  agent_error: (name: string, reason: string) => `The agent ${name} answered with an error: ${reason}`,
  agent_failed: (name: string, reason: string) => `The agent ${name} could not do it: ${reason}`,
  agent_no_answer: (name: string) => `The agent ${name} finished without an answer.`,
  agent_unreadable: (name: string) => `The agent ${name} answered in a way that could not be understood.`,
} as const;

export type RemoteErrorCode = keyof typeof words;

const longestReason = 300;

/** Why a call to another agent came to nothing, in words that can be spoken or shown. */
export class RemoteAgentError extends Error {
  readonly code: RemoteErrorCode;
  readonly agent: string;

  constructor(code: RemoteErrorCode, agent: RemoteAgent, reason = '', options?: ErrorOptions) {
    super(words[code](agent.name, oneLine(reason)), options);
    this.name = 'RemoteAgentError';
    this.code = code;
    this.agent = agent.name;
  }
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= longestReason ? line : `${line.slice(0, longestReason - 1)}…`;
}
