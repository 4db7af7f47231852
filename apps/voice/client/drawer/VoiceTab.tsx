import { type Resource, SwitchField } from '@trunkline/ui';
import type { Account, Skills } from '../../api-types.ts';
import type { CallSettings } from '../call/call.ts';
import { AccountLine } from './AccountLine.tsx';
import { CloneSection } from './CloneSection.tsx';
import { DevicePickers } from './DevicePickers.tsx';
import { InstallButton } from './InstallButton.tsx';
import { SkillPicker } from './SkillPicker.tsx';
import { VerbosityPicker } from './VerbosityPicker.tsx';

export interface VoiceTabProps {
  account: Account | undefined;
  skills: Resource<Skills>;
  settings: CallSettings;
  onSettings(change: Partial<CallSettings>): void;
  isLive: boolean;
  /** Ends the call and starts another one. */
  onRestart(): void;
}

export function VoiceTab(props: VoiceTabProps) {
  const { account, skills, settings, onSettings, isLive, onRestart } = props;
  return (
    <div className="flex flex-col gap-5">
      <AccountLine account={account} />
      <SkillPicker account={account} skills={skills} isLive={isLive} onRestart={onRestart} />
      <VerbosityPicker />
      <SwitchField
        label="Push to talk"
        hint="You are heard only while you hold the orb or Space. What you said just before is still sent."
        checked={settings.pushToTalk}
        onChange={(pushToTalk) => onSettings({ pushToTalk })}
      />
      <DevicePickers settings={settings} onSettings={onSettings} isLive={isLive} />
      <CloneSection onCloned={skills.reload} />
      <InstallButton />
    </div>
  );
}
