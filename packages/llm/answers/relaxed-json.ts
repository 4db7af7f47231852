const deepest = 64;

export interface RelaxedJson {
  value: unknown;
  /** Where the text goes on behind the value. */
  end: number;
}

/**
 * Reads JSON as models write it: trailing commas, single quotes, unquoted keys, line breaks in strings, Python's True,
 * False and None. Undefined for anything else. A value that breaks off is not guessed at.
 */
export function readRelaxedJson(text: string, start = 0): RelaxedJson | undefined {
  const scan = new Scan(text, start);
  const value = scan.value(0);
  return value === undefined ? undefined : { value: value.it, end: scan.at };
}

/** The one value that the text holds, also in a code fence. */
export function parseRelaxedJson(text: string): { value: unknown } | undefined {
  const bare = withoutFence(text.trim());
  try {
    return { value: JSON.parse(bare) };
  } catch {
    // Most of what models write is sound; the rest is read more slowly.
  }
  const read = readRelaxedJson(bare);
  return read !== undefined && bare.slice(read.end).trim() === '' ? { value: read.value } : undefined;
}

function withoutFence(text: string): string {
  const newline = text.indexOf('\n');
  const isFenced = newline >= 0 && newline <= text.length - 4 && text.endsWith('```');
  return isFenced && /^```[\w-]*\s*$/.test(text.slice(0, newline))
    ? text.slice(newline + 1, -3).trim()
    : text;
}

/** A value in a box, so that undefined can mean that there is none. */
type Box = { it: unknown } | undefined;

const words = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['True', true],
  ['False', false],
  ['None', null],
  ['undefined', null],
]);

const escapes: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', '\n': '' };

class Scan {
  readonly #text: string;
  at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  value(depth: number): Box {
    if (depth > deepest) return undefined;
    this.#space();
    const sign = this.#text[this.at];
    if (sign === '{') return this.#object(depth);
    if (sign === '[') return this.#array(depth);
    if (sign === '"' || sign === "'") return this.#string(sign);
    return this.#number() ?? this.#word();
  }

  #object(depth: number): Box {
    const entries: [string, unknown][] = [];
    this.at += 1;
    for (;;) {
      if (this.#take('}')) return { it: Object.fromEntries(entries) };
      const key = this.#key();
      if (key === undefined || !this.#take(':')) return undefined;
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      entries.push([key, value.it]);
      if (!this.#take(',') && !this.#sees('}')) return undefined;
    }
  }

  #array(depth: number): Box {
    const items: unknown[] = [];
    this.at += 1;
    for (;;) {
      if (this.#take(']')) return { it: items };
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      items.push(value.it);
      if (!this.#take(',') && !this.#sees(']')) return undefined;
    }
  }

  #key(): string | undefined {
    this.#space();
    const sign = this.#text[this.at];
    if (sign === '"' || sign === "'") return this.#string(sign)?.it as string | undefined;
    return this.#match(/[A-Za-z_$][\w$-]*/y);
  }

  #string(quote: string): Box {
    let result = '';
    for (let at = this.at + 1; at < this.#text.length; at += 1) {
      const sign = this.#text[at] ?? '';
      if (sign === '\\') {
        const escaped = this.#text[at + 1] ?? '';
        const code =
          escaped === 'u' ? /^[0-9a-fA-F]{4}/.exec(this.#text.slice(at + 2, at + 6))?.[0] : undefined;
        result +=
          code === undefined ? (escapes[escaped] ?? escaped) : String.fromCharCode(parseInt(code, 16));
        at += code === undefined ? 1 : 5;
      } else if (sign === quote && this.#closes(quote, at)) {
        this.at = at + 1;
        return { it: result };
      } else result += sign;
    }
    return undefined;
  }

  /** An apostrophe within a word closes nothing. */
  #closes(quote: string, at: number): boolean {
    return quote === '"' || /^\s*(?:[,:}\])]|$)/.test(this.#text.slice(at + 1, at + 100));
  }

  #number(): Box {
    const digits = this.#match(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y);
    return digits === undefined ? undefined : { it: Number(digits) };
  }

  #word(): Box {
    const word = this.#match(/[A-Za-z]+\b/y) ?? '';
    return words.has(word) ? { it: words.get(word) } : undefined;
  }

  #match(form: RegExp): string | undefined {
    form.lastIndex = this.at;
    const found = form.exec(this.#text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  #take(sign: string): boolean {
    if (!this.#sees(sign)) return false;
    this.at += 1;
    return true;
  }

  #sees(sign: string): boolean {
    this.#space();
    return this.#text[this.at] === sign;
  }

  #space(): void {
    this.#match(/\s+/y);
  }
}
