import { useMediaQuery } from '@trunkline/ui';
import type { ReactNode } from 'react';
import type { Call, CallState } from '../call/call.ts';
import { orbStateOf, statusOf } from '../call/status.ts';
import type { Look } from '../orb/look.ts';
import { Orb } from '../orb/Orb.tsx';
import { Controls, orbButton } from './Controls.tsx';
import { useOnline } from './useOnline.ts';

interface StageProps {
  call: Call;
  state: CallState;
  look: Look;
  /** Something is written below: on a phone the orb makes room for it. */
  compact: boolean;
  onPushToTalk(on: boolean): void;
  /** What stands between the status and the controls: a problem. */
  children?: ReactNode;
}

/** The orb, what is going on in words, and the controls of the call. */
export function Stage({ call, state, look, compact, onPushToTalk, children }: StageProps) {
  const { title, hint } = statusOf(state, { online: useOnline(), touch: useMediaQuery('(pointer: coarse)') });
  return (
    <section
      aria-label="Call"
      className={`flex min-h-0 flex-col items-center justify-center px-4 pb-4 text-center ${compact ? 'gap-3 lg:gap-4' : 'flex-1 gap-4'}`}
    >
      <button
        type="button"
        data-orb-button
        {...orbButton(call, state)}
        className={`aspect-square max-w-full cursor-pointer touch-none rounded-full select-none focus-visible:-outline-offset-8 disabled:cursor-default ${
          compact
            ? 'w-44 [@media(max-height:40rem)]:w-32 lg:w-[min(30rem,56dvh)]'
            : 'w-[min(24rem,88vw,46dvh)] lg:w-[min(30rem,56dvh)]'
        }`}
      >
        <Orb state={orbStateOf(state)} look={look} levels={call.levels} />
      </button>
      <div className="flex flex-col items-center gap-1">
        <p
          role="status"
          className={`font-semibold tracking-tight ${compact ? 'text-20 lg:text-28' : 'text-28'}`}
        >
          {title}
        </p>
        {state.problem === undefined && <p className="max-w-sm text-14 text-balance text-muted">{hint}</p>}
      </div>
      {children}
      <Controls call={call} state={state} onPushToTalk={onPushToTalk} />
    </section>
  );
}
