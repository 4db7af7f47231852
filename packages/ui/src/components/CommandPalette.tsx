import { Command as Cmdk } from 'cmdk';
import { Search } from 'lucide-react';
import { Dialog } from 'radix-ui';
import type { ReactNode } from 'react';
import type { Keys } from '../lib/hotkey.ts';
import { useReturnFocus, veilClass } from './Dialog.tsx';
import { KeyCaps } from './ShortcutHelp.tsx';

export interface Command {
  id: string;
  /** What it does: "Open the documentation". */
  label: string;
  group: string;
  icon?: ReactNode;
  /** Further words it is found by. */
  keywords?: readonly string[];
  keys?: Keys;
  run(): void;
}

interface CommandPaletteProps {
  open: boolean;
  onClose(): void;
  commands: readonly Command[];
}

/** Everything the page can do, found by typing. */
export function CommandPalette({ open, onClose, commands }: CommandPaletteProps) {
  const returnFocus = useReturnFocus();
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={veilClass} />
        <Dialog.Content
          {...returnFocus}
          aria-describedby={undefined}
          className="fixed top-[12dvh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 animate-appear overflow-hidden rounded-corner border border-line bg-raised shadow-float data-[state=closed]:animate-vanish"
        >
          <Dialog.Title className="sr-only">Command palette</Dialog.Title>
          <Cmdk label="Commands" loop>
            <div className="flex items-center gap-3 border-line border-b px-4">
              <Search aria-hidden className="size-4 text-muted" />
              <Cmdk.Input
                placeholder="Type what you want to do"
                className="h-12 flex-1 bg-transparent text-16 outline-none placeholder:text-muted"
              />
              <span className="pointer-coarse:hidden">
                <KeyCaps keys="escape" />
              </span>
            </div>
            <Commands commands={commands} onRun={onClose} />
          </Cmdk>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Commands({ commands, onRun }: { commands: readonly Command[]; onRun(): void }) {
  const groups = Map.groupBy(commands, (command) => command.group);
  return (
    <Cmdk.List className="max-h-[50dvh] scroll-py-2 overflow-y-auto p-2">
      <Cmdk.Empty className="px-2 py-6 text-center text-muted">
        Nothing is called that. Try another word.
      </Cmdk.Empty>
      {[...groups].map(([group, members]) => (
        <Cmdk.Group
          key={group}
          heading={group}
          className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-12 [&_[cmdk-group-heading]]:text-muted"
        >
          {members.map((command) => (
            <Item key={command.id} command={command} onRun={onRun} />
          ))}
        </Cmdk.Group>
      ))}
    </Cmdk.List>
  );
}

function Item({ command, onRun }: { command: Command; onRun(): void }) {
  const run = () => {
    onRun();
    command.run();
  };
  return (
    <Cmdk.Item
      value={command.id}
      keywords={[command.label, ...(command.keywords ?? [])]}
      onSelect={run}
      className="flex h-10 cursor-pointer items-center gap-3 rounded-small px-2 text-14 data-[selected=true]:bg-hover [&_svg]:size-4 [&_svg]:text-muted"
    >
      {command.icon}
      <span className="flex-1 truncate">{command.label}</span>
      {command.keys && <KeyCaps keys={command.keys} />}
    </Cmdk.Item>
  );
}
