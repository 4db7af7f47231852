export { decode } from './charset.ts';
export {
  type Block,
  type BlockKind,
  type ExtractedDocument,
  ExtractionError,
  PAGE_WITHOUT_TEXT,
  type RawDocument,
  type Region,
} from './document.ts';
export { ExtractionPool } from './extraction-pool.ts';
export { seenText } from './invisible.ts';
export { classifyFile, type FileKind, inputModes, UnsupportedFile } from './media-types.ts';
export { documentTypes, extract } from './read.ts';
export { ParserError, ParserPool, type ParserPoolOptions } from './threads/parser-pool.ts';
