import type { GuardedResponse } from '@trunkline/http';
import type { Readable } from './readable.ts';

/** The text of a PDF, page by page. The reader is loaded when the first one comes. */
export async function pdfText({ body, truncated }: GuardedResponse): Promise<Readable> {
  if (truncated) return { problem: 'is a PDF of more than 2 MB, which is too large to read' };
  try {
    const { extractText } = await import('unpdf');
    const { text } = await extractText(new Uint8Array(body));
    const pages = text.map((page) => page.trim()).filter((page) => page !== '');
    return pages.length === 0
      ? { problem: 'is a PDF without text, as scans are' }
      : { text: pages.join('\n\n') };
  } catch (error) {
    return {
      problem: `is a PDF that cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
