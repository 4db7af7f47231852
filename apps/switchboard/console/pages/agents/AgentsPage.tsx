import {
  Badge,
  Button,
  buttonClass,
  ErrorState,
  hashRoute,
  Lamp,
  Line,
  Panel,
  RelativeTime,
  stateLamp,
  useHashRoute,
} from '@trunkline/ui';
import { Bot, Link, Plus } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import type { AgentView } from '../../../api-types.ts';
import { BackLink, List, RemoveButton } from '../../shared/blocks.tsx';
import { FilePage, NEW } from '../../shared/FilePage.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList } from '../../shared/useList.ts';
import { AgentForm } from './AgentForm.tsx';
import { Trial } from './Trial.tsx';

const TEMPLATE = `name: scribe
role: general
systemPrompt: |
  You write short summaries.
tools: []
skills:
  - name: summarise
    description: Sums up what it is given.
    keywords: [summary, summarise]
`;
export default function AgentsPage() {
  const [, name] = useHashRoute();
  const list = useList<AgentView>('/api/agents', ['config.updated', 'flow.item.#']);
  if (name === undefined) return <AgentList list={list} />;
  const agent = list.items?.find((entry) => entry.name === name);
  if (agent && agent.type !== 'in-process') return <RemoteAgentPage key={name} agent={agent} />;
  return (
    <FilePage
      key={name}
      kind="agent"
      all="agents"
      place={['agents']}
      name={name}
      template={TEMPLATE}
      Form={AgentForm}
    >
      {agent && agent.skills.length > 0 && <Trial agent={agent} />}
    </FilePage>
  );
}

function AgentList({ list }: { list: ReturnType<typeof useList<AgentView>> }) {
  const [adding, setAdding] = useState(false);
  return (
    <Frame
      title="Agents"
      intro="Those in this process, those of other services, and MCP servers, with what each can do."
      actions={
        <>
          <Button icon={<Link aria-hidden />} onClick={() => setAdding(true)}>
            Connect one
          </Button>
          <a className={buttonClass({ variant: 'primary' })} href={hashRoute('agents', NEW)}>
            <Plus aria-hidden /> New agent
          </a>
        </>
      }
    >
      <List
        title="Agents"
        hideTitle
        list={list}
        icon={Bot}
        empty={['No agents yet', 'Write one here, or connect an agent of another service by its address.']}
      >
        {(agent) => <AgentLine agent={agent} />}
      </List>
      <Suspense>{adding && <ConnectDialog onClose={() => setAdding(false)} />}</Suspense>
    </Frame>
  );
}

const ConnectDialog = lazy(async () => ({ default: (await import('./ConnectDialog.tsx')).ConnectDialog }));

const KINDS = { 'in-process': 'Here', a2a: 'A2A', mcp: 'MCP' } as const;

function AgentLine({ agent }: { agent: AgentView }) {
  const { running, waiting } = agent.load;
  const card = cardWords(agent);
  return (
    <Line
      title={agent.name}
      href={agent.type === 'mcp' ? hashRoute('servers') : hashRoute('agents', agent.name)}
      lit={running > 0}
      lead={<AgentLamp agent={agent} />}
      detail={
        <span className="block truncate">
          {card && <span className="sm:hidden">{card.words} · </span>}
          {agent.skills.map(({ name }) => name).join(', ') ||
            (isUnreachable(agent) ? 'No skill, so no route reaches it' : 'No skills known yet')}
        </span>
      }
      trail={
        <>
          {running + waiting > 0 && (
            <span className="font-mono">
              {running} at work, {waiting} waiting
            </span>
          )}
          {agent.default && <Badge>Default</Badge>}
          {card && (
            <span className="max-sm:hidden" title={card.meaning}>
              <Badge>{card.words}</Badge>
            </span>
          )}
          <Badge>{KINDS[agent.type]}</Badge>
        </>
      }
    />
  );
}

/** Whether its card is signed, and by a key that we were told. */
function cardWords({ sighting }: AgentView): { words: string; meaning: string } | undefined {
  if (sighting?.card === 'verified')
    return { words: 'Card verified', meaning: 'Its card is signed by one of the keys that you have named.' };
  if (sighting?.card !== 'signed') return undefined;
  const meaning =
    'Its card carries a signature, and no key was named to check it with: nothing is wrong, and nothing is proven. To check it from now on, connect it again with the keys of its card, or the address where they stand.';
  return { words: 'Card signed, not checked', meaning };
}

/** Whether the agent accepts work. */
function AgentLamp({ agent }: { agent: AgentView }) {
  const { load, sighting } = agent;
  if (load.circuit === 'open') return <Lamp {...stateLamp('failed', 'Failing')} className="w-24" />;
  if (sighting && !sighting.reachable) return <Lamp {...stateLamp('unreachable')} className="w-24" />;
  if (isUnreachable(agent)) return <Lamp {...stateLamp('warning', 'No skill')} className="w-24" />;
  return <Lamp {...stateLamp('ready')} className="w-24" />;
}

/** The skills of agents elsewhere are known once they answered. */
function isUnreachable({ type, skills }: AgentView): boolean {
  return type === 'in-process' && skills.length === 0;
}

function RemoteAgentPage({ agent }: { agent: AgentView }) {
  const { name, type, skills, sighting } = agent;
  const card = cardWords(agent);
  return (
    <Frame
      title={name}
      intro={<BackLink to={['agents']}>All agents</BackLink>}
      actions={
        type === 'a2a' && (
          <RemoveButton
            path={`/api/external-agents/${encodeURIComponent(name)}`}
            kind="a2a"
            name={name}
            onGone={() => {
              window.location.hash = hashRoute('agents');
            }}
          />
        )
      }
    >
      {sighting && !sighting.reachable && (
        <ErrorState
          what={`Cannot reach ${name}.`}
          why={sighting.error ?? 'It does not answer.'}
          todo="Check its address and key in agents.d, and that it runs. It is asked again every minute."
        />
      )}
      <Panel
        title="Skills"
        detail="As its card says."
        actions={
          sighting?.reachable && (
            <>
              {card && <Badge>{card.words}</Badge>}
              <Lamp {...stateLamp('connected', 'Reached')} />
              <span className="text-12 text-muted">
                <RelativeTime at={sighting.at} />
              </span>
            </>
          )
        }
      >
        <ul className="flex flex-col gap-2">
          {skills.map((skill) => (
            <li key={skill.name} className="flex flex-wrap items-baseline gap-2">
              <Badge>{skill.name}</Badge>
              <span className="text-muted">{skill.description}</span>
            </li>
          ))}
          {skills.length === 0 && <li className="text-muted">None are known yet.</li>}
        </ul>
        {card && (
          <p className="mt-3 text-12 text-muted">
            {card.words}: {card.meaning}{' '}
            <a className="text-accent-text underline underline-offset-2" href="/help/a2a#signed-cards">
              Signed cards
            </a>
          </p>
        )}
      </Panel>
      <Trial agent={agent} />
    </Frame>
  );
}
