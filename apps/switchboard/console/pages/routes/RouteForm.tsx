import { Panel, SelectField, SwitchField, TextAreaField, TextField } from '@trunkline/ui';
import { useState } from 'react';
import type { AgentView, Route } from '../../../api-types.ts';
import { EditForm, type FileFormProps } from '../../shared/FilePage.tsx';
import { NameField } from '../../shared/NameField.tsx';
import { useList } from '../../shared/useList.ts';

/** A route in words: which messages, and who answers them. */
export function RouteForm({ values, fresh, busy, onSave }: FileFormProps) {
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
