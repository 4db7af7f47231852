// What a caller has chosen in this browser.
import { readStored, writeStored } from '@trunkline/ui';
import { useState } from 'react';
import type { CallSettings } from './call.ts';

const NAMES = {
  pushToTalk: 'trunkline.voice.push-to-talk',
  microphoneId: 'trunkline.voice.microphone',
  loudspeakerId: 'trunkline.voice.loudspeaker',
} as const;

export function useCallSettings(): [CallSettings, (change: Partial<CallSettings>) => void] {
  const [settings, setSettings] = useState(storedSettings);
  const change = (part: Partial<CallSettings>) => {
    const next = { ...settings, ...part };
    writeStored(NAMES.pushToTalk, next.pushToTalk ? 'on' : null);
    writeStored(NAMES.microphoneId, next.microphoneId ?? null);
    writeStored(NAMES.loudspeakerId, next.loudspeakerId ?? null);
    setSettings(next);
  };
  return [settings, change];
}

function storedSettings(): CallSettings {
  return {
    pushToTalk: readStored(NAMES.pushToTalk) === 'on',
    microphoneId: readStored(NAMES.microphoneId) ?? undefined,
    loudspeakerId: readStored(NAMES.loudspeakerId) ?? undefined,
  };
}
