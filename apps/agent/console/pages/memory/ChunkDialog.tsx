import { Button, Dialog, SchemaForm, useApi, useAttempt } from '@trunkline/ui';
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
  const save = async (body: Readonly<Record<string, unknown>>) => {
    const write =
      chunk === undefined
        ? () => api.request('/api/knowledge/chunks', { body })
        : () => api.request(`/api/knowledge/chunks/${chunk.id}`, { method: 'PUT', body });
    if (await attempt(write, { title: 'Remembered.' })) onClose();
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={chunk === undefined ? 'Remember something' : 'Edit the memory'}
    >
      <SchemaForm
        schema={chunk === undefined ? NEW : EDIT}
        {...(chunk && { values: { content: chunk.content } })}
        onSubmit={(values) => void save(values)}
        actions={
          <>
            <Button onClick={onClose}>Leave it</Button>
            <Button type="submit" variant="primary">
              Save
            </Button>
          </>
        }
      />
    </Dialog>
  );
}
