/** What a completion is made of, whichever model makes it. */
export type Piece =
  | { type: 'text'; text: string }
  /** What is being done, shown apart from the answer. */
  | { type: 'progress'; text: string }
  /** The last one. */
  | { type: 'end'; finishReason: 'stop' | 'length'; usage: PieceUsage };

interface PieceUsage {
  inputTokens: number;
  outputTokens: number;
}

/** A completion under way: its id, its time, and the model that was asked for. */
export class Completion {
  readonly #head: { id: string; created: number; model: string };

  constructor(model: string) {
    this.#head = {
      id: `chatcmpl-${crypto.randomUUID()}`,
      created: Math.floor(Date.now() / 1000),
      model,
    };
  }

  /** The answer as one document. */
  whole(text: string, { finishReason, usage }: Extract<Piece, { type: 'end' }>) {
    const choice = {
      index: 0,
      message: { role: 'assistant', content: text, refusal: null },
      logprobs: null,
      finish_reason: finishReason,
    };
    return { ...this.#head, object: 'chat.completion', choices: [choice], usage: toUsage(usage) };
  }

  opening() {
    return this.#chunk({ role: 'assistant', content: '' });
  }

  chunks(piece: Piece, withUsage: boolean) {
    if (piece.type === 'text') return [this.#chunk({ content: piece.text })];
    if (piece.type === 'progress') return [this.#chunk({ reasoning_content: `${piece.text}\n` })];
    const last = this.#chunk({}, piece.finishReason);
    if (!withUsage) return [last];
    return [last, { ...last, choices: [], usage: toUsage(piece.usage) }];
  }

  #chunk(delta: object, finish: string | null = null) {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    return { ...this.#head, object: 'chat.completion.chunk', choices };
  }
}

function toUsage({ inputTokens, outputTokens }: PieceUsage) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}
