import { type Bundle, type BundledSource, citedSources } from './bundle.ts';

/** The cited sources as BibTeX entries, named by their number in the report. */
export function toBibtex(bundle: Bundle): string {
  return citedSources(bundle).map(entryOf).join('\n');
}

function entryOf({ number, title, url, published, readAt }: BundledSource & { number: number }): string {
  const year = /\b(1[5-9]|20)\d{2}\b/.exec(published ?? '')?.[0];
  const isFile = !/^https?:\/\//.test(url);
  const fields: [string, string | undefined][] = [
    ['title', `{${escapeWords(title)}}`],
    ['howpublished', isFile ? 'Uploaded file' : undefined],
    ['url', isFile ? undefined : escapeAddress(url)],
    ['year', year],
    ['urldate', readAt?.slice(0, 10)],
    ['note', `Source ${number} of the report`],
  ];
  const lines = fields.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name} = {${value}}`]));
  return `@misc{source${number},\n${lines.join(',\n')}\n}\n`;
}

const SIGNS: Record<string, string> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
};

function escapeWords(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\{}%&#$_~^]/g, (sign) => SIGNS[sign] ?? `\\${sign}`);
}

/** Percent signs stay; what would end the field is encoded. */
function escapeAddress(url: string): string {
  return url.replace(/[{}\\\s]/g, (sign) => encodeURIComponent(sign));
}
