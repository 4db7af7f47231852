import { setTimeout as pause } from 'node:timers/promises';
import { morningDigest, morningDigestJob } from '@trunkline/std';
import { z } from 'zod';
import { plainLines, withoutControls } from '../chat/agent-api.ts';
import { CommandError } from '../commands/command.ts';
import type { RunningServices } from './services.ts';
import type { Terminal } from './terminal.ts';

const jobSchema = z.object({ job: z.object({ next: z.string() }) });
const saidSchema = z.object({ task_id: z.string() });
const entrySchema = z.object({
  kind: z.string(),
  text: z.string().optional(),
  name: z.string().optional(),
  failed: z.boolean().optional(),
});
const chatSchema = z.object({
  turns: z.array(z.object({ task_id: z.string(), state: z.string(), entries: z.array(entrySchema) })),
});

type Turn = z.output<typeof chatSchema>['turns'][number];

const pollMs = 500;

/** Schedules a morning digest at the agent, which runs, and prints the first one as soon as it is written. Returns whether it was. */
export async function firstDigest(terminal: Terminal, services: RunningServices): Promise<boolean> {
  const time = await terminal.ask(`Every day at (Enter for ${morningDigest.time}): `);
  if (time && !/^([01]?\d|2[0-3]):[0-5]\d$/.test(time))
    throw new CommandError(`"${time}" is no time of day. It should look like 07:30.`);
  const topics = await terminal.ask(`News about (Enter for ${morningDigest.topics}): `);
  const { timeZone: timezone } = new Intl.DateTimeFormat().resolvedOptions();
  const job = morningDigestJob({
    time: time || morningDigest.time,
    topics: topics || morningDigest.topics,
    timezone,
  });
  const post = (body: object) => ({ method: 'POST', body });
  const { job: planned } = await services.call('agent', '/api/scheduler/jobs', jobSchema, post(job));
  terminal.say('Writing the first one ...');
  const chat = `/api/chat/sessions/${morningDigest.id}`;
  const said = post({ text: job.prompt, timezone });
  const { task_id: taskId } = await services.call('agent', `${chat}/messages`, saidSchema, said);
  const turn = await ended(terminal, async () => {
    const { turns } = await services.call('agent', `${chat}?limit=1&task=${taskId}`, chatSchema);
    return turns.find((each) => each.task_id === taskId);
  });
  const question = turn.entries.findLast(({ kind }) => kind === 'question')?.text;
  const failure = turn.entries.findLast(({ failed, text }) => failed && text)?.text;
  const page = `${services.url('agent')}/#/chat/${morningDigest.id}`;
  if (/^(?:failed|rejected|canceled)$/.test(turn.state))
    terminal.say(
      `It was not written: ${plainLines(failure ?? turn.state).replace(/[.!?]?$/, '.')} It is scheduled all the same: test the model with "npx trunkline doctor" before it comes.`,
    );
  else if (turn.state !== 'completed')
    terminal.say(`${plainLines(question ?? 'It asks something.')}\nAnswer at ${page}`);
  else terminal.say(`\n${plainLines(textOf(turn))}\n`);
  const next = new Date(planned.next).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' });
  terminal.say(`The next one comes on ${next}, into the chat at ${page}`);
  return turn.state === 'completed';
}

/** Tells each tool as it is used, until the turn rests. A turn that goes on while the model writes has no limit here: Ctrl-C leaves it to the agent. */
async function ended(terminal: Terminal, look: () => Promise<Turn | undefined>): Promise<Turn> {
  for (let told = 0; ; await pause(pollMs)) {
    const turn = await look();
    const tools = turn?.entries.filter(({ kind }) => kind === 'tool') ?? [];
    for (const { name } of tools.slice(told)) terminal.say(`  ${withoutControls(name ?? '')}`);
    told = tools.length;
    if (turn !== undefined && !/^(?:submitted|working)$/.test(turn.state)) return turn;
  }
}

function textOf({ entries }: Turn): string {
  return entries.flatMap(({ kind, text = '' }) => (kind === 'text' ? text : [])).join('\n\n');
}
