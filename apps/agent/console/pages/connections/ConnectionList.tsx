import { Button, EmptyState, FormDialog, IconButton, type JsonSchema, Panel, Skeleton } from '@trunkline/ui';
import { Plus, RadioTower, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { useConfig } from '../../app/live.ts';
import { SwitchRow } from '../../shared/SwitchRow.tsx';

export type Values = Readonly<Record<string, unknown>>;

interface ConnectionListProps<Entry> {
  title: string;
  detail: string;
  /** What one of them is called: "Server". */
  noun: string;
  /** What the dialog adds: "an MCP server". */
  what: string;
  empty: { icon: ReactNode; title: string; next: string };
  /** Another way to add entries, beside the button for one. */
  actions?: ReactNode;
  /** Undefined while they are loaded. */
  entries: readonly Entry[] | undefined;
  /** Where the list stands in the configuration. */
  path: readonly string[];
  change: ReturnType<typeof useConfig>['change'];
  /** In place of adding it to the list alone; resolves to whether it was accepted. */
  onAdd?: (entry: object) => Promise<boolean>;
  schema: JsonSchema;
  /** The values of the form as the configuration has them. */
  toEntry(values: Values): object;
  /** Tries out what is in the form; left out where there is nothing to test before adding. */
  onTestNew?: (values: Values) => Promise<void>;
  /** Shows its own result. */
  onTest(entry: Entry): Promise<void>;
  canTest?: (entry: Entry) => boolean;
  /** How an entry shows beside its name and below it. */
  show(entry: Entry): { lead: ReactNode; tools?: readonly string[] | undefined; body: ReactNode };
}

/** Entries of the configuration that give the agent tools: added, tested, switched on and off, and removed. */
export function ConnectionList<Entry extends { name: string; enabled: boolean }>(
  props: ConnectionListProps<Entry>,
) {
  const { title, detail, noun, what, empty, entries, path, change, schema, toEntry, show } = props;
  const [adding, setAdding] = useState(false);
  const { canTest = () => true } = props;
  return (
    <Panel
      title={title}
      hideTitle
      detail={detail}
      flush
      actions={
        <>
          {props.actions}
          <Button size="small" icon={<Plus aria-hidden />} onClick={() => setAdding(true)}>
            {`Add a ${noun.toLowerCase()}`}
          </Button>
        </>
      }
    >
      {entries === undefined && <Skeleton className="p-4" />}
      {entries?.length === 0 && <EmptyState {...empty} />}
      <ul>
        {entries?.map((entry, index) => {
          const { lead, tools, body } = show(entry);
          const onEnable = (value: boolean) =>
            void change(value ? 'Switched on.' : 'Switched off.', {
              op: 'set',
              path: [...path, index, 'enabled'],
              value,
            });
          const onRemove = () => void change(`${noun} removed.`, { op: 'remove', path: [...path, index] });
          return (
            <SwitchRow
              key={entry.name}
              name={entry.name}
              lead={lead}
              tools={tools}
              enabled={entry.enabled}
              onEnable={onEnable}
              actions={
                <>
                  <TestButton
                    name={entry.name}
                    disabled={!canTest(entry)}
                    onTest={() => props.onTest(entry)}
                  />
                  <IconButton
                    small
                    label={`Remove ${entry.name}`}
                    icon={<Trash2 aria-hidden />}
                    onClick={onRemove}
                  />
                </>
              }
            >
              {body}
            </SwitchRow>
          );
        })}
      </ul>
      {adding && (
        <FormDialog
          title={`Add ${what}`}
          schema={schema}
          action="Add"
          onClose={() => setAdding(false)}
          onTest={props.onTestNew}
          onSave={(values) =>
            props.onAdd?.(toEntry(values)) ??
            change(`${noun} added.`, { op: 'add', path: [...path], value: toEntry(values) })
          }
        />
      )}
    </Panel>
  );
}

interface TestButtonProps {
  name: string;
  disabled: boolean;
  onTest(): Promise<void>;
}

function TestButton({ name, disabled, onTest }: TestButtonProps) {
  const [testing, setTesting] = useState(false);
  const test = async () => {
    setTesting(true);
    await onTest();
    setTesting(false);
  };
  return (
    <IconButton
      small
      label={`Test ${name}`}
      icon={<RadioTower aria-hidden />}
      disabled={testing || disabled}
      onClick={() => void test()}
    />
  );
}

export const NAME = {
  type: 'string',
  title: 'Name',
  pattern: '^[A-Za-z0-9_-]+$',
  description: 'Letters, digits, _ and -.',
};

/** The lines of a list field; undefined when there are none. */
export function linesOf(value: unknown): string[] | undefined {
  const lines = Array.isArray(value) ? value.map(String).filter((line) => line !== '') : [];
  return lines.length > 0 ? lines : undefined;
}
