import type { DocumentStore } from '../store/documents.ts';
import { toBibtex } from './bibtex.ts';
import { type Bundle, toEvidence } from './bundle.ts';
import { toHtml } from './html.ts';
import type { PdfPrinter } from './pdf.ts';

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
