// What is going on, in words.
import type { OrbState } from '../orb/motion.ts';
import type { CallState } from './call.ts';

export interface Status {
  title: string;
  hint: string;
}

const LOADING = 'Loading speech, one moment. What you say is kept.';

const LIVE: Record<Exclude<OrbState, 'idle'>, Status> = {
  listening: { title: 'Listening', hint: 'Say something. You can break in at any time.' },
  thinking: { title: 'Thinking', hint: 'The answer is on its way.' },
  speaking: { title: 'Speaking', hint: 'Break in whenever you like.' },
};

/** What the words depend on besides the call. */
export interface StatusContext {
  online: boolean;
  /** No keyboard at hand. */
  touch: boolean;
}

export function statusOf(state: CallState, { online, touch }: StatusContext): Status {
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

/** What the orb shows. */
export function orbStateOf({ phase, exchange, muted }: CallState): OrbState {
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
  if (!hasMicrophone)
    return { title: 'Connected', hint: 'Type what you want to say, or tap the orb to use the microphone.' };
  if (muted)
    return { title: 'You are muted', hint: `Tap the orb${touch ? '' : ' or press M'} to be heard again.` };
  if (exchange.loading && (talking || !pushToTalk)) return { title: 'Listening', hint: LOADING };
  if (!pushToTalk) return LIVE.listening;
  if (talking) return { title: 'Listening', hint: 'Let go when you are done.' };
  return { title: 'Hold to talk', hint: `Hold the orb${touch ? '' : ' or Space'} while you speak.` };
}
