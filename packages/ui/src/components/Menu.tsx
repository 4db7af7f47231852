import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { cn } from '../lib/cn.ts';
import type { Keys } from '../lib/hotkey.ts';
import { KeyCaps } from './ShortcutHelp.tsx';

export interface MenuItem {
  id: string;
  label: string;
  icon?: ReactNode;
  keys?: Keys;
  /** Destroys something. */
  danger?: boolean;
  disabled?: boolean;
  run(): void;
}

interface MenuProps {
  /** The button that opens it; gets the keyboard and the state. */
  trigger: ReactNode;
  /** Groups of items, parted by a line. */
  groups: readonly (readonly MenuItem[])[];
}

export const menuClass =
  'z-50 min-w-44 animate-appear rounded-corner border border-line bg-raised p-1 shadow-float data-[state=closed]:animate-vanish';

export const menuItemClass =
  'flex h-8 cursor-pointer items-center gap-2 rounded-small px-2 text-14 outline-none select-none data-[disabled]:cursor-not-allowed data-[disabled]:text-muted data-[highlighted]:bg-hover pointer-coarse:h-11 [&_svg]:size-4 [&_svg]:shrink-0';

export function Menu({ trigger, groups }: MenuProps) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align="end" sideOffset={4} collisionPadding={8} className={menuClass}>
          {groups.map((items, index) => (
            <DropdownMenu.Group key={items[0]?.id ?? index}>
              {index > 0 && <DropdownMenu.Separator className="my-1 h-px bg-line" />}
              {items.map((item) => (
                <Item key={item.id} item={item} />
              ))}
            </DropdownMenu.Group>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

function Item({ item }: { item: MenuItem }) {
  return (
    <DropdownMenu.Item
      onSelect={item.run}
      disabled={item.disabled ?? false}
      className={cn(menuItemClass, item.danger && 'text-failed-text')}
    >
      {item.icon}
      <span className="flex-1">{item.label}</span>
      {item.keys && <KeyCaps keys={item.keys} />}
    </DropdownMenu.Item>
  );
}
