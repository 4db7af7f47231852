/** A block of code that is open. */
export interface Fence {
  /** What closes it. */
  mark: string;
  /** What opens it again, with the language that it named. */
  opening: string;
}

const longestLanguage = 40;

/** Which block of code is open behind a line, by the rules of Markdown. */
export function fenceAfter(open: Fence | undefined, line: string): Fence | undefined {
  const [, mark = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  if (open !== undefined) return closes(open, mark, rest) ? undefined : open;
  if (mark === '' || (mark.startsWith('`') && rest.includes('`'))) return undefined;
  const [language = ''] = rest.trim().split(/\s/);
  return { mark, opening: language.length > longestLanguage ? mark : `${mark}${language}` };
}

function closes({ mark }: Fence, found: string, rest: string): boolean {
  return found.startsWith(mark) && rest.trim() === '';
}
