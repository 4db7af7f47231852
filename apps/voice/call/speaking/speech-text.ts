/** A part of a text that can be spoken by itself, with its place in the text. */
export interface Clause {
  text: string;
  start: number;
  end: number;
}

/** The first clause may be short, so that the voice is heard early; later ones are whole sentences where they can be. */
const firstClauseWords = 3;
const firstBreakWords = 12;
const laterClauseWords = 14;
const laterBreakWords = 32;
/** Longer words are nothing that can be said; a wall of them is cut anywhere. */
const longestClause = 400;

/** Cuts a text that is still being written into clauses. */
export class ClauseSplitter {
  #text = '';
  #start = 0;
  #first = true;

  /** The clauses that stand now that this has been added. */
  push(text: string): Clause[] {
    this.#text += text;
    const clauses: Clause[] = [];
    for (let end = this.#findEnd(); end !== undefined; end = this.#findEnd())
      clauses.push(...this.#take(end));
    return clauses;
  }

  /** What is left, when nothing more will follow for now. */
  flush(): Clause[] {
    return this.#take(this.#text.length);
  }

  #take(end: number): Clause[] {
    const start = this.#start;
    const text = this.#text.slice(start, end);
    this.#start = end;
    if (text.trim() === '') return [];
    this.#first = false;
    return [{ text: text.trim(), start: start + text.search(/\S/), end }];
  }

  #findEnd(): number | undefined {
    const rest = this.#text.slice(this.#start);
    const breaks = /[.?!…]+["')\]]*(?=\s)|[,;:](?=\s)|\s[–—-](?=\s)|\n+|\S+(?=\s)/g;
    for (let found = breaks.exec(rest); found !== null; found = breaks.exec(rest)) {
      const end = found.index + found[0].length;
      if (this.#endsAt(rest.slice(0, end))) return this.#start + end;
    }
    return rest.length > longestClause ? this.#start + longestClause : undefined;
  }

  #endsAt(text: string): boolean {
    const words = text.trim().split(/\s+/).filter(Boolean).length;
    if (words === 0) return false;
    if (/\n\s*$/.test(text) || isSentence(text)) return true;
    if (/[,;:–—-]$/.test(text.trim()) && !/\d,$/.test(text.trim()))
      return words >= (this.#first ? firstClauseWords : laterClauseWords);
    return words >= (this.#first ? firstBreakWords : laterBreakWords) || text.length > longestClause;
  }
}

const abbreviation =
  /\b(mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|no|approx|dept|inc|ltd|a\.m|p\.m|[a-z])\.$/i;

function isSentence(text: string): boolean {
  const trimmed = text.trim();
  return /[.?!…]["')\]]*$/.test(trimmed) && !abbreviation.test(trimmed) && !/(^|\s)\d+\.$/.test(trimmed);
}

/** How many characters of a text a share of it covers, up to the last whole word. */
export function lengthOfShare(text: string, share: number): number {
  if (share >= 1) return text.length;
  return Math.max(0, text.slice(0, Math.round(text.length * share)).search(/\s\S*$/));
}

/** A written text as it can be said: without markup, source numbers, addresses and pictographs. */
export function spokenText(text: string): string {
  return text
    .replace(/```[\s\S]*?(```|$)/g, ' ')
    .replace(/\s*\[\d+(?:, ?\d+)*\](?:\([^)\s]*\))?/g, '')
    .replace(/!?\[([^\]]*)\]\((?:[^)\s]*)\)/g, '$1')
    .replace(/https?:\/\/\S+/g, 'a link')
    .replace(/^\s*(?:#{1,6}|[-*+]|>)\s+/gm, '')
    .replace(/(?<=[\d)]) *\*\* *(?=[\d(])/g, ' to the power of ')
    .replace(/(?<=[\d)]) *\* *(?=[\d(])/g, ' times ')
    .replace(/\*\*|__|[*`~|]|(?<=\s|^)_|_(?=\s|$)/g, '')
    .replace(/\p{Extended_Pictographic}|\u{FE0F}|\u{200D}/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Whether there is anything in it that makes a sound. */
export function isSayable(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}
