/** What is handed to the extraction: the bytes of a page or file, and what they claim to be. */
export interface Raw {
  bytes: Uint8Array;
  /** In lower case, without parameters. */
  type: string;
  /** The text of textual types, decoded by whoever knows the charset. */
  text?: string;
  /** Address or file name, for titles and types that are missing. */
  name: string;
}

export interface Extracted {
  title: string;
  /** Markdown without links and images. */
  text: string;
  published?: string;
}

/** Bytes that hold no text that can be read; the words complete the sentence "it ...". */
export class ExtractionError extends Error {
  readonly code = 'extraction_failed';
}
