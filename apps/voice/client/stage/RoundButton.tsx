import { Tooltip } from '@trunkline/ui';
import type { ComponentProps, ReactNode } from 'react';

interface RoundButtonProps extends Omit<ComponentProps<'button'>, 'aria-label'> {
  label: string;
  icon: ReactNode;
  look?: 'plain' | 'accent' | 'danger';
}

const LOOKS = {
  plain:
    'border-line-strong bg-raised text-ink hover:bg-hover aria-pressed:border-accent-text aria-pressed:bg-accent-wash aria-pressed:text-accent-text',
  accent: 'border-transparent bg-accent text-accent-ink hover:bg-accent-hover',
  danger: 'border-transparent bg-danger text-danger-ink hover:bg-danger-hover',
};

/** A round button of the call, large enough for a thumb. */
export function RoundButton({ label, icon, look = 'plain', ...rest }: RoundButtonProps) {
  return (
    <Tooltip text={label}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={`inline-flex size-13 shrink-0 cursor-pointer items-center justify-center rounded-full border transition-colors select-none disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-5 ${LOOKS[look]}`}
      >
        {icon}
      </button>
    </Tooltip>
  );
}
