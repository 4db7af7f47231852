import { FormDialog } from '@trunkline/ui';
import { useSend } from '../../shared/useList.ts';

const FORM = {
  type: 'object',
  required: ['name', 'url'],
  properties: {
    name: { type: 'string', title: 'Name', pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*$' },
    url: { type: 'string', title: 'Address', format: 'uri', description: 'Of its A2A endpoint.' },
    apiKeyEnv: {
      type: 'string',
      title: 'Variable with its key',
      description: 'The name of an environment variable of the switchboard, not the key itself.',
    },
  },
};

export function ConnectDialog({ onClose }: { onClose(): void }) {
  const send = useSend();
  return (
    <FormDialog
      title="Connect an agent"
      schema={FORM}
      action="Connect it"
      onClose={onClose}
      onSave={(body) => send('/api/external-agents', { title: 'Connected. Its card is read.', body })}
    />
  );
}
