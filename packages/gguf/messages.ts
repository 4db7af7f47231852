import type { AnswerEvent, CompletionRequest } from '@trunkline/openai-api';

/** How the model is loaded. */
export interface LoadSettings {
  path: string;
  /** Tokens of one conversation; as many as fit when not given. */
  contextTokens?: number | undefined;
  /** Conversations that are kept, and answered at once. */
  sequences: number;
  threads?: number | undefined;
}

/** What the header of a model file says. */
export interface FileFacts {
  architecture: string;
  /** The longest conversation that the model was made for. */
  trainedTokens: number | undefined;
  bytes: number;
}

/** What is known once the model is loaded. */
export interface ModelFacts extends FileFacts {
  contextTokens: number;
  sequences: number;
}

export type ChildRequest =
  | { type: 'load'; settings: LoadSettings }
  | { type: 'inspect'; path: string }
  | { type: 'ask'; id: number; request: CompletionRequest }
  | { type: 'cancel'; id: number };

export type ChildMessage =
  | { type: 'progress'; fraction: number }
  | { type: 'ready'; facts: ModelFacts }
  | { type: 'inspected'; facts: FileFacts }
  | { type: 'failed'; message: string }
  | { type: 'event'; id: number; event: AnswerEvent }
  | { type: 'refused'; id: number; status: 400 | 429 | 500; message: string }
  | { type: 'cancelled'; id: number }
  | { type: 'done'; id: number };
