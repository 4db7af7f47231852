import { Check, Monitor, Moon, Sun } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { THEME_CHOICES, type ThemeChoice, useTheme } from '../hooks/useTheme.ts';
import { IconButton } from './Button.tsx';
import { menuClass, menuItemClass } from './Menu.tsx';

export const THEME_ICONS = {
  system: <Monitor aria-hidden />,
  light: <Sun aria-hidden />,
  dark: <Moon aria-hidden />,
};
export const THEME_LABELS: Record<ThemeChoice, string> = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
};

/** Chooses between the system's theme, light and dark. */
export function ThemeToggle({ side = 'right' }: { side?: 'right' | 'top' }) {
  const { choice, choose } = useTheme();
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <IconButton
          label={`Theme: ${THEME_LABELS[choice].toLowerCase()}`}
          icon={THEME_ICONS[choice]}
          side={side}
        />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          side={side}
          align="end"
          sideOffset={8}
          collisionPadding={8}
          className={menuClass}
        >
          <DropdownMenu.RadioGroup
            value={choice}
            onValueChange={(value) => choose(THEME_CHOICES.find((known) => known === value) ?? 'system')}
          >
            {THEME_CHOICES.map((option) => (
              <DropdownMenu.RadioItem key={option} value={option} className={menuItemClass}>
                {THEME_ICONS[option]}
                <span className="flex-1">{THEME_LABELS[option]}</span>
                <DropdownMenu.ItemIndicator>
                  <Check aria-hidden className="text-accent-text" />
                </DropdownMenu.ItemIndicator>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
