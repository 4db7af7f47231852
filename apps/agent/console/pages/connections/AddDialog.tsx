import { Button, Dialog, type JsonSchema, SchemaForm } from '@trunkline/ui';
import { useRef, useState } from 'react';
import type { McpServer } from '../../app/live.ts';

const NAME = {
  type: 'string',
  title: 'Name',
  pattern: '^[A-Za-z0-9_-]+$',
  description: 'Letters, digits, _ and -.',
};

export const MCP_FORM: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: NAME,
    url: { type: 'string', title: 'Address', format: 'uri', description: 'Of a server that runs elsewhere.' },
    command: { type: 'string', title: 'Or command', description: 'Of a server that runs as a process here.' },
    args: { type: 'array', title: 'Arguments', items: { type: 'string' } },
    token: {
      type: 'string',
      title: 'Token',
      format: 'password',
      description: 'Sent as a bearer to the address.',
    },
  },
};

export const DELEGATE_FORM: JsonSchema = {
  type: 'object',
  required: ['name', 'type'],
  properties: {
    name: NAME,
    type: {
      title: 'Kind',
      default: 'a2a',
      oneOf: [
        { const: 'a2a', title: 'An agent that speaks A2A' },
        { const: 'compat', title: 'A model with an OpenAI-compatible API' },
        { const: 'acp', title: 'A coding agent that runs as a process (ACP)' },
      ],
    },
    description: { type: 'string', title: 'What it is good at' },
    url: { type: 'string', title: 'Address', format: 'uri', description: 'For A2A and models.' },
    model: { type: 'string', title: 'Model', description: 'For models.' },
    command: { type: 'string', title: 'Command', description: 'For coding agents.' },
    args: { type: 'array', title: 'Arguments', items: { type: 'string' }, description: 'For coding agents.' },
    token: { type: 'string', title: 'Token', format: 'password' },
  },
};

export type Values = Readonly<Record<string, unknown>>;

interface AddDialogProps {
  title: string;
  schema: JsonSchema;
  onClose(): void;
  /** Gives whether it was accepted. */
  onAdd(values: Values): Promise<boolean>;
  /** Shows its own result; left out where there is nothing to test before adding. */
  onTest?: (values: Values) => Promise<void>;
}

/** A form to add a connection, tested first where that is possible. */
export function AddDialog({ title, schema, onClose, onAdd, onTest }: AddDialogProps) {
  const wish = useRef<'add' | 'test'>('add');
  const [busy, setBusy] = useState(false);
  const submit = async (values: Values) => {
    setBusy(true);
    if (wish.current === 'test') await onTest?.(values);
    else if (await onAdd(values)) onClose();
    setBusy(false);
  };
  const wants = (next: 'add' | 'test') => () => {
    wish.current = next;
  };
  return (
    <Dialog open wide onClose={onClose} title={title}>
      <SchemaForm
        schema={schema}
        disabled={busy}
        onSubmit={(values) => void submit(values)}
        actions={
          <>
            {onTest && (
              <Button type="submit" busy={busy} onClick={wants('test')}>
                Test
              </Button>
            )}
            <Button type="submit" variant="primary" busy={busy} onClick={wants('add')}>
              Add
            </Button>
          </>
        }
      />
    </Dialog>
  );
}

// The forms by which connections are added, and what they mean in the configuration.

/** A server as the configuration has it. */
export function mcpServerOf({ name, url, command, args, token }: Values): Partial<McpServer> {
  const listed = Array.isArray(args) ? args.map(String).filter((arg) => arg !== '') : [];
  return {
    name: String(name),
    ...(typeof url === 'string' && { url }),
    ...(typeof command === 'string' && { command }),
    ...(listed.length > 0 && { args: listed }),
    ...(typeof token === 'string' && { headers: { authorization: `Bearer ${token}` } }),
  };
}

/** A delegate as the configuration has it. */
export function delegateOf(values: Values): Record<string, unknown> {
  const { args, ...rest } = values;
  const listed = Array.isArray(args) ? args.filter((arg) => arg !== '') : [];
  return { ...rest, ...(listed.length > 0 && { args: listed }) };
}
