import { researchErrors } from '../errors.ts';
import { ExtractionError } from '../reading/extracted.ts';
import type { ExtractionPool } from '../reading/extraction-pool.ts';
import type { DocumentStore, StoredDocument } from '../store/documents.ts';

const TYPES = new Map([
  ['md', 'text/markdown'],
  ['markdown', 'text/markdown'],
  ['txt', 'text/plain'],
  ['html', 'text/html'],
  ['htm', 'text/html'],
  ['pdf', 'application/pdf'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
]);

/** Takes a file of the user's into the library; the same file again gives the one that is there. */
export async function addFile(
  file: File,
  pool: ExtractionPool,
  documents: DocumentStore,
): Promise<StoredDocument> {
  const name = plainName(file.name);
  const type = TYPES.get(/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '');
  if (type === undefined) throw researchErrors.file_type_unknown({ name });
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { title, text } = await pool.extract({ bytes, type, name }).catch((error: unknown) => {
    if (error instanceof ExtractionError)
      throw researchErrors.file_unreadable({ name, problem: error.message }, { cause: error });
    throw error;
  });
  return await documents.add({ kind: 'file', url: name, title, text, type, bytes: bytes.byteLength });
}

/** The last part of whatever path a client sent. */
function plainName(given: string): string {
  return given.split(/[\\/]/).at(-1)?.trim().slice(-200) || 'file';
}
