import { SelectField } from '@trunkline/ui';
import type { CallSettings } from '../call/call.ts';
import { useDevices } from '../call/devices.ts';

interface DevicePickersProps {
  settings: CallSettings;
  onSettings(change: Partial<CallSettings>): void;
  isLive: boolean;
}

/** Which microphone and loudspeaker are used. */
export function DevicePickers({ settings, onSettings, isLive }: DevicePickersProps) {
  const { microphones, loudspeakers } = useDevices(isLive);
  return (
    <>
      <SelectField
        label="Microphone"
        options={optionsOf(microphones)}
        value={settings.microphoneId ?? ''}
        hint={microphones.length === 0 ? 'The names appear once the microphone was allowed.' : undefined}
        onChange={({ target }) => onSettings({ microphoneId: target.value || undefined })}
      />
      {loudspeakers.length > 0 && (
        <SelectField
          label="Loudspeaker"
          options={optionsOf(loudspeakers)}
          value={settings.loudspeakerId ?? ''}
          onChange={({ target }) => onSettings({ loudspeakerId: target.value || undefined })}
        />
      )}
    </>
  );
}

function optionsOf(devices: readonly MediaDeviceInfo[]) {
  const named = devices.filter(({ deviceId }) => deviceId !== 'default' && deviceId !== '');
  return [
    { value: '', label: 'As the browser chooses' },
    ...named.map(({ deviceId, label }) => ({ value: deviceId, label })),
  ];
}
