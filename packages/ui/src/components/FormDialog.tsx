import { SchemaForm } from '../form/SchemaForm.tsx';
import type { JsonSchema } from '../form/schema.ts';
import { Button } from './Button.tsx';
import { Dialog } from './Dialog.tsx';

interface FormDialogProps {
  title: string;
  schema: JsonSchema;
  /** What stands in the fields at first. */
  values?: Readonly<Record<string, unknown>> | undefined;
  /** What the button does. */
  action?: string;
  onClose(): void;
  /** Gives whether it was accepted; then the dialog closes. */
  onSave(values: Readonly<Record<string, unknown>>): Promise<boolean>;
}

/** Writes one thing, by a form over the page. */
export function FormDialog({ title, schema, values, action = 'Save', onClose, onSave }: FormDialogProps) {
  const save = async (given: Readonly<Record<string, unknown>>) => {
    if (await onSave(given)) onClose();
  };
  return (
    <Dialog open wide onClose={onClose} title={title}>
      <SchemaForm
        schema={schema}
        {...(values && { values })}
        onSubmit={(given) => void save(given)}
        actions={
          <>
            <Button onClick={onClose}>Leave it</Button>
            <Button type="submit" variant="primary">
              {action}
            </Button>
          </>
        }
      />
    </Dialog>
  );
}
