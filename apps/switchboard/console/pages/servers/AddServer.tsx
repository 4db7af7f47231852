import { Button, Dialog, SchemaForm } from '@trunkline/ui';
import { useRef, useState } from 'react';
import { SERVER_FORM, serverOf } from './form.ts';
import { useTrial } from './useTrial.ts';

interface AddServerProps {
  onClose(): void;
  /** Gives whether it was accepted. */
  onAdd(server: object): Promise<boolean>;
}

/** A form for a new server, with a test before it is saved. */
export function AddServer({ onClose, onAdd }: AddServerProps) {
  const tryOut = useTrial();
  const testing = useRef(false);
  const [busy, setBusy] = useState(false);
  const submit = async (values: Readonly<Record<string, unknown>>) => {
    setBusy(true);
    const server = serverOf(values);
    if (testing.current) await tryOut('/api/mcp-servers/test', String(values.name), server);
    else if (await onAdd(server)) return onClose();
    setBusy(false);
  };
  const wants = (test: boolean) => () => {
    testing.current = test;
  };
  return (
    <Dialog open wide onClose={onClose} title="Add an MCP server">
      <SchemaForm
        schema={SERVER_FORM}
        disabled={busy}
        onSubmit={(values) => void submit(values)}
        actions={
          <>
            <Button type="submit" busy={busy} onClick={wants(true)}>
              Test
            </Button>
            <Button type="submit" variant="primary" busy={busy} onClick={wants(false)}>
              Add it
            </Button>
          </>
        }
      />
    </Dialog>
  );
}
