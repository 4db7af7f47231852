import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Somebody who reads and answers. */
export interface Terminal {
  say(text: string): void;
  /** What was typed, without blanks at its ends; undefined when there will be no more answers. Hidden ones are not shown. */
  ask(question: string, options?: { hidden?: boolean }): Promise<string | undefined>;
}

/** The terminal of this process. Ctrl-C ends the process, Ctrl-D the answers. */
export function openTerminal(screen: NodeJS.WritableStream = process.stdout): Terminal & { close(): void } {
  let isHidden = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isHidden) screen.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const ended = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
  lines.once('SIGINT', () => {
    screen.write('\n');
    process.exit(130);
  });
  return {
    say: (text) => void screen.write(`${text}\n`),
    async ask(question, { hidden = false } = {}) {
      const answer = lines.question(question);
      isHidden = hidden;
      try {
        return (await Promise.race([answer, ended]))?.trim();
      } finally {
        isHidden = false;
        if (hidden) screen.write('\n');
      }
    },
    close: () => lines.close(),
  };
}

/** The place of what was chosen; undefined for Enter, and when there are no more answers. */
export async function choose(
  terminal: Terminal,
  question: string,
  choices: readonly string[],
  enter: string,
): Promise<number | undefined> {
  terminal.say(`\n${question}`);
  choices.forEach((choice, at) => {
    terminal.say(`  ${String(at + 1).padStart(2)}  ${choice}`);
  });
  for (;;) {
    const answer = await terminal.ask(`Number (Enter: ${enter}): `);
    if (answer === undefined || answer === '') return undefined;
    const at = Number(answer) - 1;
    if (Number.isInteger(at) && at >= 0 && at < choices.length) return at;
    terminal.say(`Type a number from 1 to ${choices.length}.`);
  }
}

/** Whether the answer is yes; Enter gives `enter`. */
export async function confirm(terminal: Terminal, question: string, enter: boolean): Promise<boolean> {
  const answer = (await terminal.ask(`${question} [${enter ? 'Y/n' : 'y/N'}] `))?.toLowerCase();
  return answer === undefined ? false : answer === '' ? enter : answer.startsWith('y');
}
