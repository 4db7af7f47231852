/** A written text as it can be said: no marks of layout, no numbers of sources, no addresses, no pictures. */
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
