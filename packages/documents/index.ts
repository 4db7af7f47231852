export {
  type Block,
  type BlockKind,
  type ExtractedDocument,
  ExtractionError,
  type RawDocument,
  type Region,
} from './document.ts';
export { ExtractionPool } from './extraction-pool.ts';
export { documentTypes, extract } from './read.ts';
