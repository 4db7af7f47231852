import type { Logger } from '@trunkline/config';

type Fact = [name: string, text: string];

/**
 * What services warn of at every start although it may be as wanted: who needs no key, programs without a sandbox. The
 * introduction of the four says it once, in words; the log does not repeat it. After that, warnings are logged as ever,
 * and so are those that were kept where the start fails before its introduction.
 */
export class StartNotices {
  readonly #variables = new Set<string>();
  #sandbox: string | undefined;
  readonly #kept: (() => void)[] = [];
  #isTaken = false;

  /** A logger that keeps such warnings for the introduction. */
  collect(logger: Logger): Logger {
    return {
      debug: logger.debug,
      info: logger.info,
      error: logger.error,
      warn: (first: object | string, message?: string) => {
        if (typeof first === 'string') return logger.warn(first);
        const isKept = !this.#isTaken && this.#keep(first);
        if (isKept) this.#kept.push(() => logger.warn(first, message));
        logger[isKept ? 'debug' : 'warn'](first, message);
      },
      child: (fields) => this.collect(logger.child(fields)),
      ...(logger.hide && { hide: logger.hide }),
      ...(logger.setLevel && { setLevel: logger.setLevel }),
    };
  }

  /** What was kept, for the introduction; nothing is kept from then on. */
  take(): Fact[] {
    this.#isTaken = true;
    this.#kept.length = 0;
    const facts: Fact[] = [];
    if (this.#variables.size > 0) {
      const variables = [...this.#variables].sort().join(', ');
      const words = `no key is needed on this machine, which is right if it is yours alone (${variables} close it: docs/security.md)`;
      facts.push(['access', words]);
    }
    if (this.#sandbox !== undefined)
      facts.push(['sandbox', `${this.#sandbox.replace(/\.$/, '')} (docs/sandbox.md)`]);
    return facts;
  }

  /** Logs what was kept: there is no introduction that would say it. */
  log(): void {
    this.#isTaken = true;
    for (const warn of this.#kept.splice(0)) warn();
  }

  #keep({ opens, sandbox }: { opens?: readonly string[]; sandbox?: string }): boolean {
    for (const variable of opens ?? []) this.#variables.add(variable);
    this.#sandbox ??= sandbox;
    return opens !== undefined || sandbox !== undefined;
  }
}
