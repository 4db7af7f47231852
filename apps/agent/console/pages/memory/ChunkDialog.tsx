import { FormDialog, useApi, useAttempt } from '@trunkline/ui';
import type { Chunk } from './wire.ts';

const CONTENT = { type: 'string', title: 'What to remember', maxLength: 100_000 };
const NEW = {
  type: 'object',
  required: ['content', 'domain'],
  properties: {
    content: CONTENT,
    domain: { type: 'string', title: 'Domain', default: 'general' },
    heading: {
      type: 'string',
      title: 'Heading',
      description: 'The same heading again replaces what is there.',
    },
  },
};
const EDIT = { type: 'object', required: ['content'], properties: { content: CONTENT } };

/** Writes something new into the memory, or mends what is there. */
export function ChunkDialog({ chunk, onClose }: { chunk: Chunk | undefined; onClose(): void }) {
  const api = useApi();
  const attempt = useAttempt();
  const save = (body: Readonly<Record<string, unknown>>) => {
    const write =
      chunk === undefined
        ? () => api.request('/api/knowledge/chunks', { body })
        : () => api.request(`/api/knowledge/chunks/${chunk.id}`, { method: 'PUT', body });
    return attempt(write, { title: 'Remembered.' });
  };
  return (
    <FormDialog
      title={chunk === undefined ? 'Remember something' : 'Edit the memory'}
      schema={chunk === undefined ? NEW : EDIT}
      values={chunk && { content: chunk.content }}
      onClose={onClose}
      onSave={save}
    />
  );
}
