import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Folders } from '../../onboarding/pipeline.ts';
import { type DeliveryAttempt, DeliveryError } from '../delivery/outbox.ts';
import type { CloudAccount } from './account.ts';

const folderType = 'application/vnd.google-apps.folder';

const docSchema = z.object({
  content: z.string().min(1),
  title: z.string().min(1).default('Untitled'),
  /** Appends to this document instead of creating one. */
  documentId: z.string().optional(),
  folderId: z.string().optional(),
});

const fileSchema = z.object({
  content: z.string().min(1),
  name: z.string().min(1).default('untitled.md'),
  mimeType: z.string().min(1).default('text/markdown'),
  folderId: z.string().optional(),
});

/** Handles `message.outbound.cloud.docs` and `.drive`. */
export function createDocumentWriter(account: CloudAccount, defaultFolder: () => string | undefined) {
  return (attempt: DeliveryAttempt): Promise<void> =>
    attempt.message.topic === 'message.outbound.cloud.docs'
      ? writeDocument(attempt, account, defaultFolder)
      : writeFile(attempt, account, defaultFolder);
}

/** In resumable steps: a second attempt continues with the document of the first. */
async function writeDocument(
  { message, signal, done, arrived }: DeliveryAttempt,
  account: CloudAccount,
  defaultFolder: () => string | undefined,
): Promise<void> {
  const { content, title, folderId = defaultFolder(), ...given } = read(docSchema, message.payload);
  const docs = await account.docs();
  let documentId = given.documentId ?? done[0];
  if (documentId === undefined) {
    const made = await account.call(signal, (options) =>
      docs.documents.create({ requestBody: { title } }, options),
    );
    documentId = made.data.documentId ?? '';
    arrived(documentId);
  }
  if (folderId && given.documentId === undefined) await moveInto(account, documentId, folderId, signal);
  const requests = [{ insertText: { text: `${content}\n`, endOfSegmentLocation: {} } }];
  const target = documentId;
  await account.call(signal, (options) =>
    docs.documents.batchUpdate({ documentId: target, requestBody: { requests } }, options),
  );
  if (given.documentId !== undefined) arrived(documentId);
}

async function moveInto(
  account: CloudAccount,
  fileId: string,
  folderId: string,
  signal: AbortSignal,
): Promise<void> {
  const drive = await account.drive();
  await account.call(signal, (options) =>
    drive.files.update({ fileId, addParents: folderId, supportsAllDrives: true, fields: 'id' }, options),
  );
}

async function writeFile(
  { message, signal, arrived }: DeliveryAttempt,
  account: CloudAccount,
  defaultFolder: () => string | undefined,
): Promise<void> {
  const { content, name, mimeType, folderId = defaultFolder() } = read(fileSchema, message.payload);
  const drive = await account.drive();
  const requestBody = { name, ...(folderId && { parents: [folderId] }) };
  const made = await account.call(signal, (options) =>
    drive.files.create(
      {
        requestBody,
        media: { mimeType, body: Readable.from([content]) },
        fields: 'id',
        supportsAllDrives: true,
      },
      options,
    ),
  );
  arrived(made.data.id ?? '');
}

function read<Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new DeliveryError(`The message cannot be written: ${z.prettifyError(parsed.error)}`, {
    permanent: true,
  });
}

export function createFolders(account: CloudAccount | undefined): Folders {
  return {
    off:
      account === undefined
        ? 'CLOUD_CLIENT_ID, CLOUD_CLIENT_SECRET and CLOUD_REFRESH_TOKEN are not set'
        : undefined,
    async ensureFolder(name, parentId, signal) {
      if (account === undefined) throw new Error('The cloud suite is not configured.');
      const drive = await account.drive();
      const q = `name = '${quoted(name)}' and '${quoted(parentId)}' in parents and mimeType = '${folderType}' and trashed = false`;
      const shared = { supportsAllDrives: true };
      const found = await account.call(signal, (options) =>
        drive.files.list({ q, fields: 'files(id)', includeItemsFromAllDrives: true, ...shared }, options),
      );
      const known = found.data.files?.[0]?.id;
      if (known) return { id: known, created: false };
      const requestBody = { name, mimeType: folderType, parents: [parentId] };
      const made = await account.call(signal, (options) =>
        drive.files.create({ requestBody, fields: 'id', ...shared }, options),
      );
      return { id: made.data.id ?? '', created: true };
    },
  };
}

function quoted(text: string): string {
  return text.replace(/[\\']/g, '\\$&');
}
