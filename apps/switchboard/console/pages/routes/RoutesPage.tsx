import {
  Badge,
  Button,
  buttonClass,
  hashRoute,
  Lamp,
  Line,
  Panel,
  SelectField,
  SwitchField,
  TextAreaField,
  TextField,
  useApi,
  useAttempt,
  useHashRoute,
} from '@trunkline/ui';
import { FlaskConical, Plus, Split } from 'lucide-react';
import { useState } from 'react';
import type { AgentView, Answer, Route } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { EditForm, type FileFormProps, FilePage, NEW } from '../../shared/FilePage.tsx';
import { NameField } from '../../shared/NameField.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList } from '../../shared/useList.ts';

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

/** A route in words: which messages, and who answers them. */
function RouteForm({ values, fresh, busy, onSave }: FileFormProps) {
  const { name: given = '', when, then: answer, enabled = true, ...order } = values as Partial<Route>;
  const [name, setName] = useState(given);
  const [topic, setTopic] = useState(when?.topic ?? '');
  const [match, setMatch] = useState(linesOf(when?.match ?? {}));
  const [skill, setSkill] = useState(answer?.skill ?? '');
  const [agent, setAgent] = useState(answer?.agent ?? '');
  const [reply, setReply] = useState(answer?.topic ?? '');
  const [priority, setPriority] = useState(String(order.priority ?? 0));
  const [stop, setStop] = useState(order.stop === undefined ? '' : String(order.stop));
  const [on, setOn] = useState(enabled);
  const agents = useList<AgentView>('/api/agents', ['config.updated']).items ?? [];
  const skills = [...new Set(agents.flatMap((entry) => entry.skills.map((each) => each.name)))];
  const conditions = matchOf(match);
  const save = () =>
    onSave({
      name: name.trim(),
      when: { topic: topic.trim(), ...(Object.keys(conditions).length > 0 && { match: conditions }) },
      // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so, and nothing awaits it.
      then: { skill, ...(agent !== '' && { agent }), ...(reply.trim() !== '' && { topic: reply.trim() }) },
      priority: Number(priority) === 0 ? null : Number(priority),
      stop: stop === '' ? null : stop === 'true',
      enabled: on ? null : false,
    });
  return (
    <EditForm busy={busy} onSubmit={save}>
      <Panel title="Route" hideTitle>
        <div className="flex flex-col gap-4">
          {fresh && <NameField value={name} onChange={setName} />}
          <TextField
            label="Messages on the topic"
            required
            mono
            placeholder="deploy.#"
            hint="* stands for one part, # for all that follow."
            value={topic}
            onChange={(event) => setTopic(event.target.value)}
          />
          <TextAreaField
            label="Only when (optional)"
            mono
            rows={2}
            placeholder="result.status = failed"
            hint="One condition per line: a field of the message, and the value it must have."
            value={match}
            onChange={(event) => setMatch(event.target.value)}
          />
          <SelectField
            label="Ask for the skill"
            required
            value={skill}
            options={optionsOf(skills, skill, 'Choose a skill')}
            onChange={(event) => setSkill(event.target.value)}
          />
          <SelectField
            label="Of the agent"
            value={agent}
            options={optionsOf(
              agents.map((entry) => entry.name),
              agent,
              'Whoever has the skill',
            )}
            onChange={(event) => setAgent(event.target.value)}
          />
          <TextField
            label="Answer on the topic (optional)"
            mono
            placeholder="message.outbound.cli"
            hint="For messages that name no place for the answer."
            value={reply}
            onChange={(event) => setReply(event.target.value)}
          />
          <TextField
            label="Priority"
            type="number"
            hint="Where several routes take a message, the higher number runs first, then the more specific topic."
            value={priority}
            onChange={(event) => setPriority(event.target.value)}
          />
          <SelectField
            label="Further routes"
            value={stop}
            options={AFTER}
            onChange={(event) => setStop(event.target.value)}
          />
          <SwitchField label="On" checked={on} onChange={setOn} />
        </div>
      </Panel>
    </EditForm>
  );
}

const AFTER = [
  { value: '', label: 'Run too, unless somebody waits for the answer' },
  { value: 'true', label: 'Do not run after this one' },
  { value: 'false', label: 'Run too' },
];

/** A value that is set stays in the list though nobody offers it now. */
function optionsOf(names: readonly string[], value: string, none: string) {
  const all = value === '' || names.includes(value) ? names : [value, ...names];
  return [{ value: '', label: none }, ...all.map((name) => ({ value: name, label: name }))];
}

type Match = Route['when']['match'];

function linesOf(match: Match): string {
  return Object.entries(match)
    .map(([path, value]) => `${path} = ${value}`)
    .join('\n');
}

function matchOf(lines: string): Match {
  const entries = lines.split('\n').flatMap((line) => {
    const [path = '', ...value] = line.split('=');
    return path.trim() === '' ? [] : [[path.trim(), scalarOf(value.join('=').trim())] as const];
  });
  return Object.fromEntries(entries);
}

function scalarOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}
