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
    cardKeys: {
      type: 'array',
      items: { type: 'object' },
      title: 'Keys of its card',
      description:
        'Public keys in JSON, such as [{"kty": "OKP", "crv": "Ed25519", "x": "..."}]. Its card must be signed by one.',
    },
    cardJwks: {
      type: 'string',
      format: 'uri',
      title: 'JWKS of its card',
      description: 'The URL where these keys stand, in place of the keys themselves.',
    },
    cardHosts: {
      type: 'array',
      items: { type: 'string' },
      title: 'Other hosts',
      description: 'Where its card may place it, one per line. Its key goes there too.',
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
