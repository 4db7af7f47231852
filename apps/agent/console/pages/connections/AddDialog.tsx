import { Button, Dialog, type JsonSchema, SchemaForm } from '@trunkline/ui';
import { useRef, useState } from 'react';

type Values = Readonly<Record<string, unknown>>;

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
