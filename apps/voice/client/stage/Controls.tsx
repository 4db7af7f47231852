import { Mic, MicOff, Phone, PhoneOff, Radio } from 'lucide-react';
import type { Call, CallState } from '../call/call.ts';
import { holdHandlers } from './hold.ts';
import { RoundButton } from './RoundButton.tsx';

interface ControlsProps {
  call: Call;
  state: CallState;
  onPushToTalk(on: boolean): void;
}

/** Start or end, mute, and push-to-talk. */
export function Controls({ call, state, onPushToTalk }: ControlsProps) {
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
export function orbButton(call: Call, { phase, muted, pushToTalk, hasMicrophone }: CallState) {
  if (phase === 'idle') return { 'aria-label': 'Start talking', onClick: () => void call.start() };
  if (phase !== 'live') return { 'aria-label': 'End the call', onClick: () => call.hangUp() };
  if (!hasMicrophone) return { 'aria-label': 'Use the microphone', onClick: () => void call.restart() };
  if (pushToTalk) return { 'aria-label': 'Hold to talk', ...holdHandlers((down) => call.talk(down)) };
  return { 'aria-label': muted ? 'Unmute' : 'Mute', onClick: () => call.mute(!muted) };
}
