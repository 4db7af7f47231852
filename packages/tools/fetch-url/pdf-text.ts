import { errorMessage } from '@trunkline/std';

/** The text of a PDF, page by page. A few thousand bytes can unpack to gigabytes: to be called in a parser's thread. */
export async function pdfText(bytes: Uint8Array): Promise<Readable> {
  // Loaded with the first PDF: most threads never read one.
  const { extractText, getDocumentProxy } = await import('unpdf');
  try {
    const document = await getDocumentProxy(bytes, { verbosity: 0 });
    const pages = (await extractText(document)).text.map((page) => page.trim());
    const text = pages.filter((page) => page !== '').join('\n\n');
    return text === '' ? { problem: 'is a PDF without text, as scans are' } : { text };
  } catch (error) {
    return { problem: `is a PDF that cannot be read: ${errorMessage(error)}` };
  }
}

/** The text of an answer, or why it has none. */
export type Readable = { text: string } | { problem: string };
