const HIDDEN = '[hidden]';
const KNOWN_KEY = /^(?:sk|pk|rk|key|ghp|gho|ghs|github_pat|glpat|xox[a-z])[-_]\w[\w-]{5,}$/i;
const LONGEST = 60;

/** A name of the file as it may be told: one slip makes a key of a secret, as in `{api_key:sk-...}`. */
export function shownName(name: string): string {
  const head = headOf(name);
  const shown = head.replace(/\S+/g, (word) => (looksSecret(word) ? HIDDEN : word));
  return head === name && shown.length <= LONGEST ? shown : `${shown.slice(0, LONGEST)}…`;
}

/** What stands before a colon or an equals sign, which no name has in it. */
export function headOf(name: string): string {
  return name.split(/[:=]/, 1)[0]?.trimEnd() ?? '';
}

/** A known kind of key, or a part that mixes letters and digits for longer than a name does. */
function looksSecret(word: string): boolean {
  const parts = word.split(/[-_./]/);
  return KNOWN_KEY.test(word) || parts.some((part) => /^(?=.*\d)(?=.*[a-z]).{12,}$/i.test(part));
}
