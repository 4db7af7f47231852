export { decode } from './charset.ts';
export { ExtractionError, PAGE_WITHOUT_TEXT, type RawDocument } from './document.ts';
export { ExtractionPool } from './extraction-pool.ts';
export { seenText } from './invisible.ts';
export { classifyFile, inputModes, UnsupportedFile } from './media-types.ts';
export { documentTypes, extract } from './read.ts';
export { ParserError, ParserPool } from './threads/parser-pool.ts';
