import { useEffect, useState } from 'react';

export interface Devices {
  microphones: readonly MediaDeviceInfo[];
  loudspeakers: readonly MediaDeviceInfo[];
}

const NONE: Devices = { microphones: [], loudspeakers: [] };

/** The sound devices that the browser tells of; their names only once the microphone was allowed. */
export function useDevices(isLive: boolean): Devices {
  const [devices, setDevices] = useState(NONE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a call that begins makes the names known
  useEffect(() => {
    const source: MediaDevices | undefined = navigator.mediaDevices;
    if (source === undefined) return;
    const leaving = new AbortController();
    const look = async () => {
      const found = await source.enumerateDevices();
      if (!leaving.signal.aborted) setDevices(sorted(found));
    };
    void look();
    source.addEventListener('devicechange', () => void look(), { signal: leaving.signal });
    return () => leaving.abort();
  }, [isLive]);
  return devices;
}

function sorted(found: readonly MediaDeviceInfo[]): Devices {
  const named = (kind: MediaDeviceKind) =>
    found.filter((device) => device.kind === kind && device.label !== '');
  return { microphones: named('audioinput'), loudspeakers: named('audiooutput') };
}
