import { documentTypes, ExtractionError, type ExtractionPool } from '@trunkline/documents';
import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import { maySee, ownerKey } from '@trunkline/identity';
import type { Quota } from '@trunkline/storage';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { StoredFile } from '../api-types.ts';
import { researchErrors } from '../errors.ts';
import { fileAddress } from '../sources/stored.ts';
import type { DescribedDocument, DocumentStore, StoredDocument } from '../store/documents.ts';

export interface FileRouteDeps {
  documents: DocumentStore;
  fileQuota: Quota;
  pool: ExtractionPool;
}

const formSchema = z.object({
  file: z.union([z.instanceof(File), z.array(z.instanceof(File)).max(50)]).optional(),
});

/** The user's own files, as sources of chat and research. */
export function mountFiles(app: Hono<AppEnv>, deps: FileRouteDeps): void {
  const { documents } = deps;
  const find = (context: Context<AppEnv>): DescribedDocument => {
    const id = context.req.param('id') ?? '';
    const found = /^\d{1,15}$/.test(id) ? documents.describe(Number(id)) : undefined;
    if (found?.kind !== 'file' || !maySee(context.get('principal'), found.owner))
      throw researchErrors.file_not_found();
    return found;
  };
  const { file_missing, file_type_unknown, file_unreadable, file_not_found, quota_exceeded } = researchErrors;

  app.post(
    '/api/files',
    describeRoute({
      summary:
        'Upload files in the form field "file": .md, .txt, .html, .pdf, .docx, .odt, .epub, .xlsx, .ods, .csv, .tsv, or pictures of text',
      status: 201,
      errors: [file_missing, file_type_unknown, file_unreadable, quota_exceeded],
    }),
    validate('form', formSchema),
    async (c) => {
      const { file } = c.req.valid('form');
      const files = file === undefined ? [] : [file].flat();
      if (files.length === 0) throw file_missing();
      const stored: DescribedDocument[] = [];
      for (const one of files)
        stored.push(await addFile(one, ownerKey(c.get('principal')), c.req.raw.signal, deps));
      return c.json({ files: stored.map(toEntry) }, 201);
    },
  );

  app.get('/api/files', describeRoute({ summary: 'The files of the library' }), (c) =>
    c.json({ files: documents.files(c.get('principal')).map(toEntry) }),
  );

  app.get(
    '/api/files/:id',
    describeRoute({ summary: 'A file with the text that was read from it', errors: [file_not_found] }),
    (c) => {
      const found = find(c);
      return c.json({ ...toEntry(found), text: documents.get(found.id)?.text ?? '' });
    },
  );

  app.delete(
    '/api/files/:id',
    describeRoute({ summary: 'Remove a file', status: 204, errors: [file_not_found] }),
    (c) => {
      documents.remove(find(c).id);
      return c.body(null, 204);
    },
  );
}

function toEntry({ id, url, title, type, bytes, addedAt }: DescribedDocument): StoredFile {
  return {
    id: String(id),
    name: url,
    title,
    type,
    bytes,
    url: fileAddress(id),
    addedAt: new Date(addedAt).toISOString(),
  };
}

/** Takes a file of the user's into the library; the same file again gives the one that is there. */
async function addFile(
  file: File,
  owner: string,
  signal: AbortSignal,
  { pool, documents, fileQuota }: FileRouteDeps,
): Promise<StoredDocument> {
  const name = plainName(file.name);
  const type = documentTypes.get(/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '');
  if (type === undefined) throw researchErrors.file_type_unknown({ name });
  const refusal = fileQuota.refusal(owner, file.size);
  if (refusal !== undefined) throw researchErrors.quota_exceeded({ refusal });
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { title, text, mainLength, isWhole, hidden } = await pool
    .extract({ bytes, type, name }, { signal, owner })
    .catch((error: unknown) => {
      if (error instanceof ExtractionError)
        throw researchErrors.file_unreadable({ name, problem: error.message }, { cause: error });
      throw error;
    });
  // A small file may hold a large text, and it is the text that is stored.
  const beyond = Buffer.byteLength(text) - bytes.byteLength;
  const textRefusal = beyond > 0 ? fileQuota.refusal(owner, beyond) : undefined;
  if (textRefusal !== undefined) throw researchErrors.quota_exceeded({ refusal: textRefusal });
  return await documents.add({
    owner,
    kind: 'file',
    url: name,
    title,
    text,
    mainLength,
    isWhole,
    hidden,
    type,
    bytes: bytes.byteLength,
  });
}

/** The last part of whatever path a client sent. */
function plainName(given: string): string {
  return given.split(/[\\/]/).at(-1)?.trim().slice(-200) || 'file';
}
