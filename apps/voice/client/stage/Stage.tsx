import { Button, Tooltip, useMediaQuery } from '@trunkline/ui';
import { Mic, MicOff, Phone, PhoneOff, Radio } from 'lucide-react';
import { type ComponentProps, type ReactNode, useEffect, useRef, useSyncExternalStore } from 'react';
import type { Call, CallState } from '../call/call.ts';
import type { Look } from '../orb/look.ts';
import type { OrbState } from '../orb/motion.ts';
import { Orb } from '../orb/Orb.tsx';

const LOADING = 'Loading speech, one moment. What you say is kept.';

const LIVE: Record<Exclude<OrbState, 'idle'>, Status> = {
  listening: { title: 'Listening', hint: 'Say something. You can break in at any time.' },
  thinking: { title: 'Thinking', hint: 'The answer is on its way.' },
  speaking: { title: 'Speaking', hint: 'Break in whenever you like.' },
};

const LOOKS = {
  plain:
    'border-line-strong bg-raised text-ink hover:bg-hover aria-pressed:border-accent-text aria-pressed:bg-accent-wash aria-pressed:text-accent-text',
  accent: 'border-transparent bg-accent text-accent-ink hover:bg-accent-hover',
  danger: 'border-transparent bg-danger text-danger-ink hover:bg-danger-hover',
};

interface StageProps {
  call: Call;
  state: CallState;
  look: Look;
  /** There is text below: on a phone the orb makes room for it. */
  compact: boolean;
  onPushToTalk(on: boolean): void;
  /** Shown between the status and the controls. */
  children?: ReactNode;
}

/** The orb, the status and the controls of the call. */
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
      {isOnHold(state) && (
        <Button variant="primary" onClick={() => call.resume()}>
          Resume the call
        </Button>
      )}
      {children}
      <Controls call={call} state={state} onPushToTalk={onPushToTalk} />
    </section>
  );
}

function isOnHold({ phase, exchange }: CallState): boolean {
  return phase === 'live' && exchange.onHold;
}

function useOnline(): boolean {
  return useSyncExternalStore(subscribe, () => navigator.onLine);
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener('online', onChange);
  window.addEventListener('offline', onChange);
  return () => {
    window.removeEventListener('online', onChange);
    window.removeEventListener('offline', onChange);
  };
}

interface ControlsProps {
  call: Call;
  state: CallState;
  onPushToTalk(on: boolean): void;
}

function Controls({ call, state, onPushToTalk }: ControlsProps) {
  const { phase, muted, pushToTalk, hasMicrophone } = state;
  return (
    <div className="flex items-center justify-center gap-4">
      <RoundButton
        label={muted ? 'Unmute' : 'Mute'}
        icon={muted ? <MicOff aria-hidden /> : <Mic aria-hidden />}
        aria-pressed={muted}
        disabled={phase === 'idle' || !hasMicrophone}
        onClick={() => call.mute(!muted)}
      />
      {phase === 'idle' ? (
        <RoundButton
          label="Start talking"
          icon={<Phone aria-hidden />}
          look="accent"
          onClick={() => void call.start()}
        />
      ) : (
        <RoundButton
          label="End the call"
          icon={<PhoneOff aria-hidden />}
          look="danger"
          onClick={() => call.hangUp()}
        />
      )}
      <RoundButton
        label={pushToTalk ? 'Push-to-talk is on' : 'Push-to-talk is off'}
        icon={<Radio aria-hidden />}
        aria-pressed={pushToTalk}
        onClick={() => onPushToTalk(!pushToTalk)}
      />
    </div>
  );
}

/** The orb as a button: starts a call, mutes, or is held to talk. */
function orbButton(call: Call, { phase, muted, pushToTalk, hasMicrophone }: CallState) {
  if (phase === 'idle') return { 'aria-label': 'Start talking', onClick: () => void call.start() };
  if (phase !== 'live') return { 'aria-label': 'End the call', onClick: () => call.hangUp() };
  if (!hasMicrophone)
    return { 'aria-label': 'Use the microphone', onClick: () => void call.restart({ microphone: true }) };
  if (pushToTalk) return { 'aria-label': 'Hold to talk', ...holdHandlers((down) => call.talk(down)) };
  return { 'aria-label': muted ? 'Unmute' : 'Mute', onClick: () => call.mute(!muted) };
}

interface RoundButtonProps extends Omit<ComponentProps<'button'>, 'aria-label'> {
  label: string;
  icon: ReactNode;
  look?: 'plain' | 'accent' | 'danger';
}

/** A round button of the call, large enough for a thumb. */
function RoundButton({ label, icon, look = 'plain', ...rest }: RoundButtonProps) {
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

/** Handlers of a button that is held with a finger, a mouse or Enter; Space belongs to the page. */
function holdHandlers(hold: (down: boolean) => void) {
  const up = () => hold(false);
  return {
    onPointerDown(event: React.PointerEvent<HTMLElement>) {
      event.currentTarget.setPointerCapture(event.pointerId);
      hold(true);
    },
    onPointerUp: up,
    onPointerCancel: up,
    onLostPointerCapture: up,
    onKeyDown: (event: React.KeyboardEvent) => event.key === 'Enter' && !event.repeat && hold(true),
    onKeyUp: (event: React.KeyboardEvent) => event.key === 'Enter' && up(),
    onBlur: up,
    // A long press must not open the browser's menu.
    onContextMenu: (event: React.MouseEvent) => event.preventDefault(),
  };
}

/** Space starts a call, mutes, or is held to talk, unless another control has the focus. */
export function useSpace(call: Call): void {
  const down = useRef(false);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const release = () => {
      if (down.current) call.talk(false);
      down.current = false;
    };
    const press = (event: KeyboardEvent) => {
      if (event.code !== 'Space' || event.repeat || isOthers(event.target)) return;
      event.preventDefault();
      down.current = true;
      actOn(call);
    };
    window.addEventListener('keydown', press, { signal });
    const lift = (event: KeyboardEvent) => {
      if (event.code !== 'Space' || !down.current) return;
      // Some browsers click a focused button on keyup.
      event.preventDefault();
      release();
    };
    window.addEventListener('keyup', lift, { signal });
    window.addEventListener('blur', release, { signal });
    return () => leaving.abort();
  }, [call]);
}

function actOn(call: Call): void {
  const { phase, pushToTalk, muted, hasMicrophone } = call.state();
  if (phase === 'idle') void call.start();
  else if (pushToTalk) call.talk(true);
  else if (phase === 'live' && hasMicrophone) call.mute(!muted);
}

// The orb leaves Space to this hook; other controls keep it.
function isOthers(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest('[data-orb-button]') !== null) return false;
  return (
    target.isContentEditable ||
    target.closest('input, textarea, select, button, a, summary, [role=dialog], [role=tab]') !== null
  );
}

interface Status {
  title: string;
  hint: string;
}

interface StatusContext {
  online: boolean;
  /** No keyboard. */
  touch: boolean;
}

function statusOf(state: CallState, { online, touch }: StatusContext): Status {
  switch (state.phase) {
    case 'idle':
      return touch
        ? { title: 'Tap to talk', hint: 'Tap the orb, or type below.' }
        : { title: 'Tap to talk', hint: 'Tap the orb or press Space. You can also type.' };
    case 'microphone':
      return { title: 'Allow the microphone', hint: 'Your browser asks for it now.' };
    case 'connecting':
      return { title: 'Connecting', hint: 'One moment.' };
    case 'reconnecting':
      return reconnecting(state, online);
    case 'live':
      return live(state, touch);
  }
}

function orbStateOf({ phase, exchange, muted }: CallState): OrbState {
  if (phase === 'connecting' || phase === 'reconnecting' || phase === 'microphone') return 'thinking';
  if (phase === 'idle') return 'idle';
  return muted && exchange.activity === 'listening' ? 'idle' : exchange.activity;
}

function reconnecting({ attempt }: CallState, online: boolean): Status {
  if (!online)
    return { title: 'You are offline', hint: 'The call comes back by itself when your network does.' };
  return { title: 'Connection lost', hint: `Reconnecting, attempt ${attempt}. What was said is kept.` };
}

function live(state: CallState, touch: boolean): Status {
  const { exchange, hasMicrophone, muted, pushToTalk, talking } = state;
  const tool = exchange.entries.findLast((entry) => entry.kind === 'tool' && entry.state === 'running');
  if (exchange.activity === 'thinking' && tool?.kind === 'tool')
    return { title: 'Thinking', hint: `Using ${tool.name.replaceAll('_', ' ')}.` };
  if (exchange.activity !== 'listening') return LIVE[exchange.activity];
  if (exchange.onHold)
    return {
      title: 'On hold',
      hint: 'Nothing is answered until you resume, write, or say that you are back.',
    };
  if (!hasMicrophone)
    return { title: 'Connected', hint: 'Type what you want to say, or tap the orb to use the microphone.' };
  if (muted)
    return { title: 'You are muted', hint: `Tap the orb${touch ? '' : ' or press M'} to be heard again.` };
  if (exchange.loading && (talking || !pushToTalk)) return { title: 'Listening', hint: LOADING };
  if (!pushToTalk) return LIVE.listening;
  if (talking) return { title: 'Listening', hint: 'Let go when you are done.' };
  return { title: 'Hold to talk', hint: `Hold the orb${touch ? '' : ' or Space'} while you speak.` };
}
