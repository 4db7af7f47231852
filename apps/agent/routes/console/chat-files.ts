import { type AppEnv, describeRoute, mountFileLinks, validate } from '@trunkline/http';
import { maySee, type Principal } from '@trunkline/identity';
import type { ContentStore, FileRecord, StoredFile } from '@trunkline/loop';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { MayJoin } from '../../callers.ts';
import { type AgentContent, ContentRefusal } from '../../content/agent-content.ts';
import type { Owners } from '../../owners.ts';
import { consoleErrors } from './errors.ts';

export interface ChatFileRoutes {
  files: ContentStore;
  content: AgentContent;
  owners: Owners;
  mayRead: MayJoin;
}

/** Takes one file of multipart/form-data. */
export const uploadPath = '/api/chat/files';

const form = z.object({ file: z.instanceof(File) });

/** Files that people send with messages, and those that turns make. */
export function mountChatFiles(app: Hono<AppEnv>, { files, content, owners, mayRead }: ChatFileRoutes): void {
  const { file_refused, not_found } = consoleErrors;
  const isTheirs = ({ owner, sessionId }: FileRecord, principal: Principal) =>
    maySee(owners.viewer(principal), owner) || (sessionId !== undefined && mayRead(sessionId, principal));

  app.post(
    uploadPath,
    describeRoute({
      summary: 'Store a file in the form field "file", for a message that names its id',
      status: 201,
      errors: [file_refused],
    }),
    validate('form', form),
    async (context) => {
      const { file } = context.req.valid('form');
      const bytes = new Uint8Array(await file.arrayBuffer());
      const given = { bytes, name: file.name, mediaType: file.type };
      const stored = await content.upload(given, context.get('principal')).catch((error: unknown) => {
        if (!(error instanceof ContentRefusal)) throw error;
        throw file_refused({ why: error.message }, { cause: error });
      });
      return context.json(view(stored, files), 201);
    },
  );

  app.get(
    '/api/chat/files/:id',
    describeRoute({ summary: 'A file, with a link to it that works for an hour', errors: [not_found] }),
    (context) => {
      const found = files.find(context.req.param('id'));
      if (found === undefined || !isTheirs(found, context.get('principal')))
        throw not_found({ what: 'such file' });
      return context.json(view(found, files));
    },
  );

  mountFileLinks(app, async (id, { expires, signature }) => {
    if (!files.isSigned(id, expires, signature)) return 'refused';
    const found = files.find(id);
    const bytes = await files.read(id);
    return found && bytes && { ...found, bytes };
  });
}

function view({ id, name, mediaType, size }: StoredFile, files: ContentStore) {
  return { id, name, media_type: mediaType, size, url: files.link(id) };
}
