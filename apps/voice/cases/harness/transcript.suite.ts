import type { LineMessage } from '../../call/line.ts';

/** What both sides have said to each other, as lines. */
export class Transcript {
  readonly lines: string[] = [];
  #bot: string[] = [];

  add({ type, data }: LineMessage): void {
    const fields = (data ?? {}) as Record<string, unknown>;
    if (type === 'bot-tts-text') this.#bot.push(String(fields.text));
    if (type === 'bot-interrupted') this.#closeBot(' --');
    if (type === 'bot-stopped-speaking') this.#pending = true;
    else if (this.#pending) this.#closeBot('');
    if (type === 'user-transcription' && fields.final === true) this.lines.push(`caller: ${fields.text}`);
    if (type === 'llm-function-call-started') this.lines.push(`tool: ${fields.function_name}`);
    if (type === 'error') this.lines.push(`error: ${fields.message}`);
  }

  /** The end of speech is told before the interruption that caused it. */
  #pending = false;

  end(): string[] {
    this.#closeBot('');
    return this.lines;
  }

  #closeBot(suffix: string): void {
    if (this.#bot.length > 0) this.lines.push(`bot: ${this.#bot.join(' ')}${suffix}`);
    this.#bot = [];
    this.#pending = false;
  }
}
