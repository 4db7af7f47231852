import { offlineSuggestions } from '@trunkline/std';
import {
  AppShell,
  type Command,
  DemoNote,
  type HealthResource,
  type LampState,
  Suggestions,
  useApi,
  useHealth,
  useHotkeys,
} from '@trunkline/ui';
import { Mic, Phone, PhoneOff, Settings2 } from 'lucide-react';
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { activeSkill, useAccount, useSkills } from './account.ts';
import { Call, type CallState } from './call/call.ts';
import { type CallSettings, useCallSettings } from './call/sound.ts';
import { Drawer } from './drawer/Drawer.tsx';
import { type Look, resolveLook } from './orb/look.ts';
import { Composer, Conversation } from './stage/Conversation.tsx';
import { Stage, useSpace } from './stage/Stage.tsx';
import { ProblemCard, ServiceNotice, TopBar } from './stage/TopBar.tsx';

export function VoicePage() {
  const health = useHealth();
  const account = useAccount();
  const skills = useSkills();
  const [settings, changeSettings] = useCallSettings();
  const { call, state } = useCall(settings);
  const [drawerOpen, setDrawerOpen] = useState(false);
  const [tried, setTried] = useState<Look | undefined>(undefined);
  const skill = useSkillOfCall(activeSkill(skills.body), state);
  const [viz, pinned] = [skill?.viz, account.body?.pinned_viz];
  const look = useMemo(() => tried ?? resolveLook(viz, pinned), [viz, pinned, tried]);
  useSpace(call);
  useCallHotkeys(call, state);
  const toggleDrawer = () => setDrawerOpen((open) => !open);
  const hasWords = state.exchange.entries.length > 0;
  return (
    <AppShell
      service="voice"
      {...placeOf(health)}
      commands={useCommands(call, state, toggleDrawer)}
      inspector={
        <Drawer
          open={drawerOpen}
          onClose={() => setDrawerOpen(false)}
          account={account.body}
          voice={{
            account: account.body,
            skills,
            settings,
            onSettings: changeSettings,
            isLive: state.phase !== 'idle',
            onRestart: () => void call.restart(),
          }}
          orb={{ look, onTry: setTried, trying: tried !== undefined }}
        />
      }
    >
      <div className="flex h-[calc(100dvh-var(--bottom-bar)-var(--section-bar)-var(--notices,0px))] flex-col">
        <TopBar state={state} skillName={skill?.name} open={drawerOpen} onSettings={toggleDrawer} />
        <ServiceNotice resource={health} />
        <div className="grid min-h-0 flex-1 grid-rows-[minmax(0,1fr)] max-lg:flex max-lg:flex-col lg:grid-cols-[minmax(0,1fr)_24rem]">
          <Stage
            call={call}
            state={state}
            look={look}
            compact={hasWords || state.problem !== undefined}
            onPushToTalk={(pushToTalk) => changeSettings({ pushToTalk })}
          >
            {state.problem && <ProblemCard call={call} problem={state.problem} waiting={state.waiting} />}
            {!hasWords && state.phase === 'idle' && !state.problem && (
              <>
                <DemoNote health={health.health} />
                <Suggestions
                  label="Try saying"
                  isShown
                  texts={offlineSuggestions}
                  onChoose={(text) => void call.sendText(text)}
                  className="max-w-3xl justify-center max-sm:[&>li:nth-child(n+3)]:hidden [@media(max-height:42rem)]:hidden"
                />
              </>
            )}
            {state.exchange.warning !== undefined && state.phase === 'live' && (
              <p role="alert" className="max-w-md text-14 text-waiting-text">
                {state.exchange.warning}
              </p>
            )}
          </Stage>
          <Talk
            hasWords={hasWords}
            state={state}
            onSend={(text) => void call.sendText(text)}
            onRetry={() => call.retryUnsent()}
          />
        </div>
      </div>
    </AppShell>
  );
}

function Talk({
  hasWords,
  state,
  onSend,
  onRetry,
}: {
  hasWords: boolean;
  state: CallState;
  onSend(text: string): void;
  onRetry(): void;
}) {
  return (
    <section
      aria-label="Words"
      className={`flex min-h-0 flex-col border-line max-lg:border-t lg:border-l ${hasWords ? 'max-lg:flex-1' : 'max-lg:mt-auto'}`}
    >
      <div className={`flex min-h-0 flex-1 flex-col ${hasWords ? '' : 'max-lg:hidden'}`}>
        <Conversation exchange={state.exchange} onRetry={onRetry} />
      </div>
      <Composer onSend={onSend} />
    </section>
  );
}

// A call keeps the skill it started with.
function useSkillOfCall<Skill>(chosen: Skill | undefined, { phase, number }: CallState): Skill | undefined {
  const kept = useRef({ number, skill: chosen });
  const mayChange = phase === 'idle' || kept.current.number !== number || kept.current.skill === undefined;
  if (mayChange) kept.current = { number, skill: chosen };
  return kept.current.skill;
}

/** Lists all keys at any time, so that people learn them before the call. */
function useCallHotkeys(call: Call, { phase, muted, hasMicrophone, pushToTalk }: CallState): void {
  const live = phase !== 'idle';
  useHotkeys([
    {
      keys: 'space',
      label: pushToTalk ? 'Start talking, then hold to be heard' : 'Start talking, then mute',
    },
    {
      keys: 'm',
      label: muted ? 'Unmute' : 'Mute',
      ...(hasMicrophone && live && { run: () => call.mute(!muted) }),
    },
    { keys: 'e', label: 'End the call', ...(live && { run: () => call.hangUp() }) },
  ]);
}

function placeOf({ health, error }: HealthResource) {
  const state: LampState = error !== undefined ? 'failed' : (health?.state ?? 'waiting');
  return { state, services: health?.services };
}

function useCommands(
  call: Call,
  { phase, muted, hasMicrophone }: CallState,
  openSettings: () => void,
): Command[] {
  const group = 'This call';
  const inCall: Command[] = [
    {
      id: 'end',
      label: 'End the call',
      group,
      icon: <PhoneOff aria-hidden />,
      keys: 'e',
      run: () => call.hangUp(),
    },
    ...(hasMicrophone
      ? [
          {
            id: 'mute',
            label: muted ? 'Unmute' : 'Mute',
            group,
            icon: <Mic aria-hidden />,
            keys: 'm',
            run: () => call.mute(!muted),
          },
        ]
      : []),
  ];
  const start: Command = {
    id: 'start',
    label: 'Start talking',
    group,
    icon: <Phone aria-hidden />,
    keys: 'space',
    run: () => void call.start(),
  };
  const settings = {
    id: 'settings',
    label: 'Open the settings',
    group,
    icon: <Settings2 aria-hidden />,
    run: openSettings,
  };
  return [...(phase === 'idle' ? [start] : inCall), settings];
}

function useCall(settings: CallSettings): { call: Call; state: CallState } {
  const api = useApi();
  const [call] = useState(() => new Call(api, settings));
  const state = useSyncExternalStore(call.subscribe, call.state);
  useEffect(() => void call.apply(settings), [call, settings]);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    window.addEventListener('pagehide', () => call.hangUp(), { signal });
    window.addEventListener('offline', () => call.dropped(), { signal });
    window.addEventListener('online', () => call.retryNow(), { signal });
    return () => leaving.abort();
  }, [call]);
  return { call, state };
}
