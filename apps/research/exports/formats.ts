import type { DocumentStore } from '../store/documents.ts';
import { type Bundle, type BundledSource, citedSources, toEvidence } from './bundle.ts';
import { toHtml } from './html.ts';
import type { PdfPrinter } from './pdf.ts';

const SIGNS: Record<string, string> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
};

export const FORMATS = ['md', 'html', 'docx', 'pdf', 'json', 'bib'] as const;
export type Format = (typeof FORMATS)[number];

export const MEDIA_TYPES: Record<Format, string> = {
  md: 'text/markdown; charset=utf-8',
  html: 'text/html; charset=utf-8',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pdf: 'application/pdf',
  json: 'application/json',
  bib: 'application/x-bibtex; charset=utf-8',
};

/** The research in the format. */
export async function exportAs(
  format: Format,
  bundle: Bundle,
  { printer, documents }: { printer: PdfPrinter; documents: DocumentStore },
  signal: AbortSignal,
): Promise<string | Uint8Array> {
  switch (format) {
    case 'md':
      return bundle.report;
    case 'html':
      return toHtml(bundle);
    case 'pdf':
      return await printer.print(toHtml(bundle), signal);
    case 'json':
      return toEvidence(bundle, documents);
    case 'bib':
      return toBibtex(bundle);
    case 'docx': {
      // The writer of Word documents is heavy: it is loaded with the first one.
      const { toDocx } = await import('./docx.ts');
      return await toDocx(bundle);
    }
  }
}

/** A file name from the query. */
export function fileName(query: string, format: Format): string {
  const words = query
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60);
  return `${words || 'research'}.${format}`;
}

/** The cited sources as BibTeX entries, named by their number in the report. */
function toBibtex(bundle: Bundle): string {
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

function escapeWords(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\{}%&#$_~^]/g, (sign) => SIGNS[sign] ?? `\\${sign}`);
}

/** Percent signs stay; what would end the field is encoded. */
function escapeAddress(url: string): string {
  return url.replace(/[{}\\\s]/g, (sign) => encodeURIComponent(sign));
}
