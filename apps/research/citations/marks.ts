/** What a mark needs to know of a claim. */
export interface MarkedClaim {
  sentence: string;
  number: number | null;
}

/** A citation mark of a report: `[2]`, `[2?]`, or `[?]` where nothing is cited. */
export interface CitationMark {
  text: string;
  number: number | undefined;
  isSupported: boolean;
  /** The position of its claim in the list; missing when the claims are not there yet. */
  claim: number | undefined;
}

const RUN = /(?:\[(?:\d{1,3}\??|\?)\])+(?!\()/g;
const MARK = /\[(?:(\d{1,3})(\??)|\?)\]/g;

/** Rewrites every citation mark of a report or answer; each is tied to the claim whose sentence stands in front of it. */
export function rewriteMarks(
  markdown: string,
  claims: readonly MarkedClaim[],
  write: (mark: CitationMark) => string,
): string {
  const words = claims.map(({ sentence }) => withoutStop(sentence));
  const longest = Math.max(0, ...words.map(({ length }) => length));
  return markdown.replace(RUN, (run, offset: number) => {
    const before = markdown.slice(Math.max(0, offset - longest - 1), offset).trimEnd();
    return run.replace(MARK, (text: string, digits: string | undefined, doubt: string | undefined) => {
      const number = digits === undefined ? undefined : Number(digits);
      const claim = claims.findIndex(
        (each, index) => (each.number ?? undefined) === number && before.endsWith(words[index] ?? ''),
      );
      // A sign in a legend, not in a sentence.
      if (number === undefined && claim === -1) return text;
      const isSupported = number !== undefined && doubt === '';
      return write({ text, number, isSupported, claim: claim === -1 ? undefined : claim });
    });
  });
}

function withoutStop(sentence: string): string {
  return sentence.replace(/[.!?…]*["'”’)]*$/, '').trimEnd();
}
