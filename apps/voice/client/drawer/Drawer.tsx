import { errorMessage } from '@trunkline/std';
import {
  Badge,
  Button,
  Inspector,
  Panel,
  PostureLine,
  type Resource,
  SelectField,
  SwitchField,
  Tabs,
  TextField,
  useApi,
  useResource,
  useToast,
  writeStored,
} from '@trunkline/ui';
import { MonitorDown } from 'lucide-react';
import { useState } from 'react';
import type { Account, Skills, SpeechHealth } from '../../api-types.ts';
import { activeSkill, ask, KEY_NAME, useInstall } from '../account.ts';
import { type CallSettings, useDevices } from '../call/sound.ts';
import { CloneSection } from '../clone/CloneForm.tsx';
import { OrbTab, type OrbTabProps } from './OrbTab.tsx';

const RELOADS = [
  { path: '/api/skills/reload', label: 'Reload the skills', field: 'skills', noun: 'Skills' },
  { path: '/api/users/reload', label: 'Reload the users', field: 'users', noun: 'Users' },
  { path: '/api/delegates/reload', label: 'Reload the delegates', field: 'delegates', noun: 'Delegates' },
] as const;

const LEVELS = [
  { value: 'silent', label: 'Silent', hint: 'The answer alone, as short as it can be.' },
  { value: 'brief', label: 'Brief', hint: 'A few words before a longer look-up, then a short answer.' },
  { value: 'narrated', label: 'Narrated', hint: 'Says what it is doing while it works.' },
  { value: 'chatty', label: 'Chatty', hint: 'Talks with you as a friend would.' },
];

interface DrawerProps {
  open: boolean;
  onClose(): void;
  account: Account | undefined;
  voice: VoiceTabProps;
  orb: OrbTabProps;
}

/** Settings: Voice for everyone; the orb and the controls of the service for admins only. */
export function Drawer({ open, onClose, account, voice, orb }: DrawerProps) {
  const [tab, setTab] = useState('voice');
  const isAdmin = account?.role === 'admin';
  return (
    <Inspector open={open} onClose={onClose} title="Settings">
      {isAdmin ? (
        <Tabs
          label="Settings"
          value={tab}
          onChange={setTab}
          tabs={[
            { id: 'voice', label: 'Voice', content: <VoiceTab {...voice} /> },
            { id: 'orb', label: 'Orb', content: <OrbTab {...orb} /> },
            { id: 'admin', label: 'Admin', content: <AdminTab {...voice} /> },
          ]}
        />
      ) : (
        <VoiceTab {...voice} />
      )}
    </Inspector>
  );
}

interface VoiceTabProps {
  account: Account | undefined;
  skills: Resource<Skills>;
  settings: CallSettings;
  onSettings(change: Partial<CallSettings>): void;
  isLive: boolean;
  onRestart(): void;
}

function VoiceTab(props: VoiceTabProps) {
  const { account, skills, settings, onSettings } = props;
  return (
    <div className="flex flex-col gap-5">
      <AccountLine account={account} />
      <SkillPicker {...props} />
      <LanguagePicker {...props} />
      <VerbosityPicker />
      <LocalVoice isAdmin={account?.role === 'admin'} />
      <SwitchField
        label="Push to talk"
        hint="You are heard only while you hold the orb or Space. What you said just before is still sent."
        checked={settings.pushToTalk}
        onChange={(pushToTalk) => onSettings({ pushToTalk })}
      />
      <DevicePickers {...props} />
      <CloneSection onCloned={skills.reload} />
      <InstallButton />
    </div>
  );
}

function AccountLine({ account }: { account: Account | undefined }) {
  if (account === undefined) return null;
  const signOut = () => {
    writeStored(KEY_NAME, null);
    window.location.reload();
  };
  return (
    <div className="flex items-center gap-2">
      <p className="min-w-0 truncate font-medium">{account.display_name}</p>
      <Badge>{account.role === 'admin' ? 'Admin' : 'User'}</Badge>
      {account.auth_source !== 'empty' && (
        <Button size="small" variant="quiet" className="ml-auto" onClick={signOut}>
          Forget my key
        </Button>
      )}
    </div>
  );
}

/** Shown if the browser offers to install the page. */
function InstallButton() {
  const install = useInstall();
  if (install === undefined) return null;
  return (
    <Button icon={<MonitorDown aria-hidden />} onClick={install}>
      Install as an app
    </Button>
  );
}

function VerbosityPicker() {
  const api = useApi();
  const toast = useToast();
  const { body, reload } = useResource<{ verbosity: string }>('/api/verbosity');
  if (body === undefined) return null;
  const choose = async (level: string) => {
    try {
      await ask(api, '/api/verbosity', { body: { level } });
    } catch (error) {
      toast({ title: 'The verbosity was not changed.', detail: errorMessage(error), state: 'failed' });
    }
    reload();
  };
  return (
    <SelectField
      label="Verbosity"
      value={body.verbosity}
      options={LEVELS}
      hint={LEVELS.find(({ value }) => value === body.verbosity)?.hint}
      onChange={(event) => void choose(event.target.value)}
    />
  );
}

function LanguagePicker({ settings, onSettings, isLive, onRestart }: VoiceTabProps) {
  const { body } = useResource<SpeechHealth>('/healthz');
  const [changed, setChanged] = useState(false);
  if (body === undefined) return null;
  const { languages, stt_language: only } = body.speech;
  const choose = (language: string) => {
    setChanged(isLive);
    onSettings({ language: language || undefined });
  };
  return (
    <div className="flex flex-col gap-2">
      <SelectField
        label="Language"
        value={settings.language ?? ''}
        options={[
          { value: '', label: 'Automatic' },
          ...languages.map((code) => ({ value: code, label: languageName(code) })),
        ]}
        hint={languageHint(settings.language, only)}
        onChange={({ target }) => choose(target.value)}
      />
      {changed && isLive && <RestartNote onRestart={onRestart} />}
    </div>
  );
}

/** In English, then in the language itself: "Spanish (español)". */
function languageName(code: string): string {
  const nameIn = (locale: string) => new Intl.DisplayNames(locale, { type: 'language' }).of(code) ?? code;
  const [name, own] = [nameIn('en'), nameIn(code)];
  return name === own ? name : `${name} (${own})`;
}

function languageHint(chosen: string | undefined, only: string | undefined): string {
  if (only !== undefined && chosen !== undefined && chosen !== only)
    return `Answers come in this language, but only spoken ${languageName(only)} is understood here: write, or ask the operator for another recogniser.`;
  if (chosen !== undefined) return 'A skill that has a language or a voice of its own keeps it.';
  return only === undefined
    ? 'That of the skill or of your account, else the one you speak.'
    : `That of the skill or of your account. Only spoken ${languageName(only)} is understood here.`;
}

/** The voice that this machine has chosen for itself, and why. */
function LocalVoice({ isAdmin }: { isAdmin: boolean }) {
  const { body } = useResource<SpeechHealth>('/healthz');
  const voice = body?.speech.voice;
  if (voice?.chosen_by !== 'machine') return null;
  return (
    <div className="flex flex-col gap-1">
      <p className="font-medium text-14">Voice</p>
      <p className="text-14 text-muted">{voice.reason}</p>
      {isAdmin && (
        <a href="/setup/speech" className="text-14 text-accent-text underline underline-offset-2">
          Choose another voice
        </a>
      )}
    </div>
  );
}

function DevicePickers({ settings, onSettings, isLive }: VoiceTabProps) {
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

/** A list, or a chip if there is nothing to choose. */
function SkillPicker({ account, skills, isLive, onRestart }: VoiceTabProps) {
  const api = useApi();
  const toast = useToast();
  const [changed, setChanged] = useState(false);
  const known = skills.body;
  const active = activeSkill(known);
  if (known === undefined) return null;
  if (account?.allowed_skills?.length === 1) return <SkillChip name={active?.name ?? known.active} />;
  const choose = async (slug: string) => {
    try {
      await ask(api, '/api/skills', { body: { slug } });
      setChanged(isLive);
      skills.reload();
    } catch (error) {
      toast({ title: 'The skill was not changed.', detail: errorMessage(error), state: 'failed' });
    }
  };
  return (
    <div className="flex flex-col gap-2">
      <SelectField
        label="Skill"
        value={known.active}
        options={known.skills.map(({ slug, name }) => ({ value: slug, label: name }))}
        hint={active?.description}
        onChange={(event) => void choose(event.target.value)}
      />
      {changed && isLive && <RestartNote onRestart={onRestart} />}
    </div>
  );
}

function RestartNote({ onRestart }: Pick<VoiceTabProps, 'onRestart'>) {
  return (
    <div className="flex flex-wrap items-center gap-2 rounded-corner bg-accent-wash px-3 py-2 text-14">
      <p className="flex-1">This counts from the next call on.</p>
      <Button size="small" onClick={onRestart}>
        Start again now
      </Button>
    </div>
  );
}

function SkillChip({ name }: { name: string }) {
  return (
    <div className="flex flex-col gap-1">
      <p className="font-medium text-14">Skill</p>
      <div>
        <Badge tone="accent">{name}</Badge>
      </div>
    </div>
  );
}

function AdminTab({ skills }: Pick<VoiceTabProps, 'skills'>) {
  return (
    <div className="flex flex-col gap-4">
      <ReloadPanel onReloaded={skills.reload} />
      <AssignPanel skills={skills.body} />
      <PostureLine />
    </div>
  );
}

function ReloadPanel({ onReloaded }: { onReloaded(): void }) {
  const api = useApi();
  const toast = useToast();
  const reload = async ({ path, field, noun }: (typeof RELOADS)[number]) => {
    try {
      const body = await ask<Record<string, unknown>>(api, path, { method: 'POST' });
      const names = body[field];
      const detail = Array.isArray(names) && names.length > 0 ? names.join(', ') : 'There are none.';
      toast({ title: `${noun} reloaded.`, detail, state: 'live' });
      onReloaded();
    } catch (error) {
      toast({ title: `${noun} kept as they were.`, detail: errorMessage(error), state: 'failed' });
    }
  };
  return (
    <Panel title="Files" detail="Reloads changed files. Calls under way keep what they began with.">
      <div className="flex flex-col gap-2">
        {RELOADS.map((entry) => (
          <Button key={entry.path} onClick={() => void reload(entry)}>
            {entry.label}
          </Button>
        ))}
      </div>
    </Panel>
  );
}

function AssignPanel({ skills }: { skills: Skills | undefined }) {
  const api = useApi();
  const toast = useToast();
  const [user, setUser] = useState('');
  const [chosen, setChosen] = useState('');
  const slug = chosen || (skills?.skills[0]?.slug ?? '');
  const assign = async () => {
    try {
      await ask(api, '/api/admin/skills', { body: { user_id: user.trim(), slug } });
      toast({ title: `${user.trim()} gets ${slug}, from the next call on.`, state: 'live' });
    } catch (error) {
      toast({ title: 'The skill was not set.', detail: errorMessage(error), state: 'failed' });
    }
  };
  return (
    <Panel
      title="A user's skill"
      detail="Also one outside their list; they keep it until they choose another."
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void assign();
        }}
      >
        <TextField label="User id" mono value={user} onChange={({ target }) => setUser(target.value)} />
        <SelectField
          label="Skill of the user"
          value={slug}
          options={(skills?.skills ?? []).map((skill) => ({ value: skill.slug, label: skill.name }))}
          onChange={({ target }) => setChosen(target.value)}
        />
        <Button type="submit" disabled={user.trim() === ''}>
          Set the skill
        </Button>
      </form>
    </Panel>
  );
}
