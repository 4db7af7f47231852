import type { ChatEvent } from './agent-client.ts';

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
    if (event.type === 'text') this.#put(event.text);
    else if (event.type === 'end') this.#end(event.state, event.text);
    else if (event.type === 'question') this.line(`? ${event.text}`);
    else this.line(this.#dim(`  ${marks[event.phase]} ${event.name} ${event.detail}`.trimEnd()));
  }

  line(text: string): void {
    this.finish();
    this.#put(`${text}\n`);
  }

  /** Ends an open line. */
  finish(): void {
    if (!this.#atLineStart) this.#put('\n');
  }

  // What completed says nothing more; any other end is named with its reason.
  #end(state: string, reason: string): void {
    if (state !== 'completed') this.line(reason === '' ? `[${state}]` : `[${state}] ${reason}`);
    this.finish();
  }

  #put(text: string): void {
    if (text === '') return;
    this.#output.write(text);
    this.#atLineStart = text.endsWith('\n');
  }
}
