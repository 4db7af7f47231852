import { Badge, ErrorState, hashRoute, Lamp, Panel, RelativeTime } from '@trunkline/ui';
import { ArrowLeft } from 'lucide-react';
import type { AgentView } from '../../../api-types.ts';
import { Frame } from '../../app/Frame.tsx';
import { RemoveRemote } from './RemoveRemote.tsx';
import { Trial } from './Trial.tsx';

/** An agent of another service: whether it is reached, what it can do, and a way to try it. */
export function RemoteAgentPage({ agent }: { agent: AgentView }) {
  const { name, type, skills, sighting } = agent;
  return (
    <Frame
      title={name}
      intro={
        <a
          className="inline-flex items-center gap-1 text-accent-text underline underline-offset-2"
          href={hashRoute('agents')}
        >
          <ArrowLeft aria-hidden className="size-4" /> All agents
        </a>
      }
      actions={type === 'a2a' && <RemoveRemote name={name} />}
    >
      {sighting && !sighting.reachable && (
        <ErrorState
          what={`${name} is not reached.`}
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
              <Lamp state="live" word="Reached" />
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
      </Panel>
      <Trial agent={agent} />
    </Frame>
  );
}
