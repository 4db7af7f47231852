import { type LucideIcon, TriangleAlert } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import { Lamp } from '../../src/components/Lamp.tsx';
import { cn } from '../../src/lib/cn.ts';
import type { Work } from './setup.tsx';

interface ChoiceProps<Id extends string> {
  /** Read aloud. */
  label: string;
  choices: readonly { id: Id; title: string; detail: string; Icon: LucideIcon }[];
  value: NoInfer<Id> | undefined;
  onChange(id: NoInfer<Id>): void;
}

/** One of a few ways, as cards. */
export function Choice<Id extends string>({ label, choices, value, onChange }: ChoiceProps<Id>) {
  const name = useId();
  return (
    <fieldset className="grid gap-3 sm:grid-cols-[repeat(auto-fit,minmax(9rem,1fr))]">
      <legend className="sr-only">{label}</legend>
      {choices.map(({ id, title, detail, Icon }) => (
        <label
          key={id}
          className={cn(
            'relative flex cursor-pointer gap-3 rounded-corner border border-line-strong bg-raised p-4 transition-colors hover:border-edge hover:bg-hover sm:flex-col sm:gap-2',
            'has-checked:border-accent-strong has-checked:bg-accent-wash has-focus-visible:outline-2 has-focus-visible:outline-offset-2',
          )}
        >
          <input
            type="radio"
            name={name}
            checked={value === id}
            onChange={() => onChange(id)}
            className="absolute inset-0 cursor-pointer opacity-0"
          />
          <Icon aria-hidden className="size-5 shrink-0 text-muted" />
          <span className="min-w-0">
            <span className="block font-medium text-14">{title}</span>
            <span className="block text-12 text-muted">{detail}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** What went wrong with something that the person started, and what to do. */
export function Trouble({ work, what }: { work: Pick<Work<unknown>, 'problem'>; what: string }) {
  if (work.problem === undefined) return null;
  return (
    <Note state="failed" title={what}>
      {work.problem.message} {work.problem.advice}
    </Note>
  );
}

interface NoteProps {
  state: 'live' | 'waiting' | 'failed';
  title: string;
  children?: ReactNode;
}

const WASHES = { live: 'bg-live-wash', waiting: 'bg-waiting-wash', failed: 'bg-failed-wash' };

/** A result in a line or two: good, worth a look, or failed. */
export function Note({ state, title, children }: NoteProps) {
  return (
    <div
      role={state === 'failed' ? 'alert' : 'status'}
      className={cn('flex gap-3 rounded-corner px-4 py-3', WASHES[state])}
    >
      {state === 'waiting' ? (
        <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-waiting-text" />
      ) : (
        <Lamp state={state} dotOnly className="mt-0.5 self-start" />
      )}
      <div className="min-w-0 flex-1 text-14 break-words">
        <p className="font-medium">{title}</p>
        {children && <div className="text-ink">{children}</div>}
      </div>
    </div>
  );
}

/** Text that says what is under way, for work of more than a second. */
export function Busy({ children }: { children: string }) {
  return (
    <p role="status" className="flex items-center gap-2 text-14 text-muted">
      <Lamp state="waiting" dotOnly />
      {children}
    </p>
  );
}
