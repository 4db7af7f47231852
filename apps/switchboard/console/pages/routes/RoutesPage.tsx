import {
  Badge,
  Button,
  buttonClass,
  hashRoute,
  Lamp,
  Line,
  Panel,
  TextAreaField,
  TextField,
  useApi,
  useAttempt,
  useHashRoute,
} from '@trunkline/ui';
import { FlaskConical, Plus, Split } from 'lucide-react';
import { useState } from 'react';
import type { Answer, Route } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { FilePage, NEW } from '../../shared/FilePage.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList } from '../../shared/useList.ts';
import { RouteForm } from './RouteForm.tsx';

const TEMPLATE = `name: my-route
# Messages on this topic become requests for the skill; * is one part, # all that follow.
when:
  topic: deploy.finished
  # match: { result.status: failed }
then:
  skill: chat
  # agent: helm
  topic: message.outbound.cli
`;

export default function RoutesPage() {
  const [, name] = useHashRoute();
  if (name === undefined) return <RouteList />;
  return (
    <FilePage
      key={name}
      kind="route"
      all="routes"
      place={['routes']}
      name={name}
      template={TEMPLATE}
      Form={RouteForm}
    >
      <DryRun />
    </FilePage>
  );
}

function RouteList() {
  const list = useList<Route>('/api/routes', ['config.updated']);
  return (
    <Frame
      title="Routes"
      intro="A route takes messages of a topic to a skill. Without one, channels, conversations and keywords decide."
      actions={
        <a className={buttonClass({ variant: 'primary' })} href={hashRoute('routes', NEW)}>
          <Plus aria-hidden /> New route
        </a>
      }
    >
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <List
          title="Routes"
          hideTitle
          list={list}
          icon={Split}
          empty={[
            'No routes yet',
            'Messages find their agent by channel, keyword or the helm. Add a route to send a topic elsewhere.',
          ]}
        >
          {(route) => (
            <Line
              title={route.name}
              href={hashRoute('routes', route.name)}
              detail={
                <span className="block truncate font-mono">
                  {route.when.topic} → {route.then.skill}
                  {route.then.agent && ` by ${route.then.agent}`}
                </span>
              }
              trail={!route.enabled && <Badge>Off</Badge>}
            />
          )}
        </List>
        <DryRun />
      </div>
    </Frame>
  );
}

interface Verdict extends Run {
  /** All that would run, in order. */
  runs: readonly Run[];
}

interface Run {
  dispatched: boolean;
  skill?: string;
  agent?: string;
  rule?: string;
  route?: string;
  reason?: string;
  why: string;
}

/** Sends nothing. */
function DryRun() {
  const api = useApi();
  const attempt = useAttempt();
  const [topic, setTopic] = useState('message.inbound.cli');
  const [given, setGiven] = useState('Is there an outage?');
  const [verdict, setVerdict] = useState<Verdict>();
  const [busy, setBusy] = useState(false);
  const payload = payloadOf(given);
  const run = async () => {
    setBusy(true);
    await attempt(async () => {
      const body = { topic: topic.trim(), payload };
      setVerdict((await api.request<Answer<Verdict>>('/api/routes/test', { body })).data);
    });
    setBusy(false);
  };
  return (
    <Panel title="Dry run" detail="Where would this message go, and why? Nothing is sent.">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <TextField
          label="Topic"
          mono
          autoCapitalize="off"
          spellCheck={false}
          value={topic}
          onChange={(event) => setTopic(event.target.value)}
        />
        <TextAreaField
          label="Message"
          hint="Plain words, or the payload as a JSON object."
          value={given}
          onChange={(event) => setGiven(event.target.value)}
        />
        <div className="flex justify-end">
          <Button
            type="submit"
            variant="primary"
            icon={<FlaskConical aria-hidden />}
            busy={busy}
            disabled={topic.trim() === ''}
          >
            Try it
          </Button>
        </div>
        <div role="status" className="flex flex-col gap-2">
          {verdict?.runs.map((each) => (
            <Outcome key={each.route ?? each.why} run={each} />
          ))}
        </div>
      </form>
    </Panel>
  );
}

function Outcome({ run }: { run: Run }) {
  const { dispatched, skill, agent, rule, reason, why } = run;
  return (
    <div className="rounded-corner border border-line bg-sunken p-4">
      <Lamp
        state={dispatched ? 'live' : 'failed'}
        word={dispatched ? `${skill} by ${agent}` : `Goes nowhere (${reason})`}
      />
      <p className="mt-1 break-words first-letter:uppercase">{why}</p>
      {rule && <p className="font-mono text-12 text-muted">rule: {rule}</p>}
    </div>
  );
}

function payloadOf(given: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(given);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Anything else is the content itself.
  }
  return { content: given };
}
