import type { ChatEvent } from './events.ts';

const marks = { started: '·', completed: '✓', failed: '✗' } as const;

/** Writes the events of a conversation to a terminal: text as it comes, tools and questions on lines of their own. */
export class ChatWriter {
  readonly #output: NodeJS.WritableStream;
  readonly #dim: (text: string) => string;
  #atLineStart = true;

  constructor(output: NodeJS.WritableStream, colours: boolean) {
    this.#output = output;
    this.#dim = colours ? (text) => `\u001b[2m${text}\u001b[22m` : (text) => text;
  }

  write(event: ChatEvent): void {
    if (event.type === 'text') return this.#put(event.text);
    if (event.type === 'tool')
      return this.line(this.#dim(`  ${marks[event.phase]} ${event.name} ${event.detail}`.trimEnd()));
    if (event.type === 'question') return this.line(`? ${event.text}`);
    if (event.state !== 'completed')
      this.line(event.text === '' ? `[${event.state}]` : `[${event.state}] ${event.text}`);
    this.finish();
  }

  line(text: string): void {
    this.finish();
    this.#put(`${text}\n`);
  }

  /** Ends an open line. */
  finish(): void {
    if (!this.#atLineStart) this.#put('\n');
  }

  #put(text: string): void {
    if (text === '') return;
    this.#output.write(text);
    this.#atLineStart = text.endsWith('\n');
  }
}
