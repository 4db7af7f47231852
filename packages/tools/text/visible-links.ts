/**
 * What an answer links to, on surfaces that draw Markdown themselves. A model may have been told to put what it knows
 * into an address: a picture or a preview that the surface fetches by itself would carry it out, and a label hides where
 * a link leads.
 */

const CODE = /(```[\s\S]*?```|`[^`\n]*`)/;
const LINK =
  /!?\[([^\]\n]{0,500})\]\(\s*<?(https?:\/\/(?:[^\s()<>]|\([^\s()<>]*\))+)>?(?:\s+"[^"\n]*")?\s*\)/gi;

/** For chat platforms: every link shows its address, which `<…>` keeps from being previewed. Code stays as it is. */
export function visibleLinks(markdown: string): string {
  return markdown
    .split(CODE)
    .map((piece, index) => (index % 2 === 1 ? piece : piece.replace(LINK, shown)))
    .join('');
}

function shown(_: string, label: string, url: string): string {
  const words = label.trim();
  return words === '' || words === url ? `<${url}>` : `${words} (<${url}>)`;
}

const DEFINITION = /^ {0,3}\[[^\]\n]{1,999}\]:/m;
const DRAWN = /<(?=\/?(?:img|image|picture|source|video|audio|track|svg|iframe|object|embed|link|input)\b)/gi;

/** For code hosts and trackers: what would be a picture is a link, and HTML that fetches something is text. */
export function withoutPictures(markdown: string): string {
  const end = DEFINITION.test(markdown)
    ? markdown.length
    : Math.max(markdown.lastIndexOf(']('), markdown.lastIndexOf(']['));
  return markdown
    .replace(/!(?=\[)/g, (mark, at: number) => (at < end ? `\\${mark}` : mark))
    .replace(DRAWN, '&lt;');
}
