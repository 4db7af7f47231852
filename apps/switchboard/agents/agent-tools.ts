import { type Bus, escapeSegment } from '@trunkline/bus';
import { joinOrigins, type Principal } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import type { Sandbox } from '@trunkline/sandbox';
import { errorMessage } from '@trunkline/std';
import {
  type ApprovedTool,
  answerApproval,
  approvalText,
  createRunCommand,
  type FileMarks,
  fileTools,
  withFileMarks,
} from '@trunkline/tools';
import { z } from 'zod';
import { isGuardedTopic, matchesAny } from '../access/caller.ts';
import { onBehalf } from '../core/messages.ts';
import type { SkillContext } from '../dispatch/executor.ts';
import { approvalEnd, askLimitMs, type HumanInput } from '../human/human-input.ts';
import type { IncidentRepository } from '../incidents/incident-repository.ts';
import type { Project, ProjectDirectory } from '../projects/registry.ts';
import type { AgentDefinition, Ceremony } from '../workspace/schema/agent.ts';
import { severities } from '../workspace/schema/channels.ts';

const commandTimeoutMs = 120_000;

const input = z.object({ command: z.string().min(1).max(4000).describe('A shell command.') });

export interface ToolParts {
  bus: Bus;
  incidents: IncidentRepository;
  projects: ProjectDirectory;
  ceremonies: () => readonly Ceremony[];
}

interface Work {
  correlationId: string;
  principal?: Principal | undefined;
}

type ToolOwner = Pick<AgentDefinition, 'name' | 'publishes'>;

export function whitelistedTools(parts: ToolParts, work: Work, owner: ToolOwner): Tool[] {
  const { name: agent } = owner;
  return [
    publishEvent(parts, work, owner),
    getProjects(parts),
    getIncidents(parts),
    reportIncident(parts, work, agent),
    getCeremonies(parts),
    runCeremony(parts, work, agent),
  ] as Tool[];
}

function publishEvent({ bus }: ToolParts, work: Work, owner: ToolOwner) {
  const { correlationId } = work;
  const { name, publishes } = owner;
  const allowed = publishes.join(', ') || 'none';
  return defineTool({
    name: 'publish_event',
    effects: ['sends'],
    subject: ({ topic }) => ({ recipient: topic }),
    description: `Publishes an event onto the message bus. Topics that this agent may publish to: ${allowed}.`,
    input: z.object({
      topic: z.string().describe('Segments between dots, such as deploy.finished'),
      payload: z.record(z.string(), z.unknown()).default({}),
    }),
    async execute({ topic, payload }, { principal = work.principal, idempotencyKey }) {
      const refusal = refusalOf(topic, owner);
      if (refusal !== undefined) return `Error: ${refusal}`;
      try {
        const source = { interface: 'agent', userId: name };
        const { id } = await bus.publish({
          topic,
          payload,
          id: idempotencyKey,
          correlationId,
          source,
          principal: onBehalf({ principal }, name),
        });
        return `Published as ${id}.`;
      } catch (error) {
        return `Error: ${errorMessage(error)}`;
      }
    },
  });
}

/** Guarded topics are refused even if `publishes` lists them. */
function refusalOf(topic: string, { name, publishes }: ToolOwner): string | undefined {
  if (isGuardedTopic(topic))
    return `agents never publish to ${topic}. Only the operator may send orders or inbound messages there; say what you wanted to change, and why.`;
  if (matchesAny(publishes, topic)) return undefined;
  return `${name} may not publish to ${topic}. The operator can add the topic to the list "publishes" of agents/${name}.yaml; it holds ${publishes.join(', ') || 'nothing'} now.`;
}

function getIncidents({ incidents }: ToolParts) {
  return defineTool({
    name: 'get_incidents',
    effects: ['reads'],
    description: 'Lists incidents, those that are not resolved unless all are asked for.',
    input: z.object({ all: z.boolean().default(false) }),
    async execute({ all }, { addOrigins }) {
      const found = incidents.list().filter(({ status }) => all || status !== 'resolved');
      addOrigins?.(joinOrigins(...found.map(({ origins }) => origins)));
      if (found.length === 0) return 'There are no incidents.';
      return found
        .map(({ id, severity, status, title }) => `${id} [${severity}, ${status}] ${title}`)
        .join('\n');
    },
  });
}

function reportIncident({ incidents }: ToolParts, work: Work, agent: string) {
  return defineTool({
    name: 'report_incident',
    effects: ['writes'],
    description: 'Reports a new incident.',
    input: z.object({
      title: z.string().min(1),
      severity: z.enum(severities).default('medium'),
      description: z.string().optional(),
    }),
    async execute({ title, severity, description }, { principal = work.principal }) {
      const given = { title, severity, ...(description && { description }) };
      const { id } = await incidents.report(given, agent, onBehalf({ principal }, agent));
      return `Reported as ${id}.`;
    },
  });
}

function getProjects({ projects }: ToolParts) {
  return defineTool({
    name: 'get_projects',
    effects: ['reads'],
    description: 'Lists the projects of the organisation.',
    input: z.object({}),
    async execute() {
      const found = projects.list();
      if (found.length === 0) return 'There are no projects.';
      return found.map(projectLine).join('\n');
    },
  });
}

function projectLine({ slug, name, github, defaultBranch }: Project): string {
  const place = github === undefined ? '' : ` at ${github.owner}/${github.repo}`;
  return `${slug}: ${name}${place}, branch ${defaultBranch}`;
}

function getCeremonies({ ceremonies }: ToolParts) {
  return defineTool({
    name: 'get_ceremonies',
    effects: ['reads'],
    description: 'Lists the ceremonies: what agents do at set times.',
    input: z.object({}),
    async execute() {
      const found = ceremonies();
      if (found.length === 0) return 'There are no ceremonies.';
      return found
        .map(({ id, name, schedule, enabled }) => `${id}: ${name} (${schedule} UTC${enabled ? '' : ', off'})`)
        .join('\n');
    },
  });
}

function runCeremony({ bus, ceremonies }: ToolParts, work: Work, agent: string) {
  return defineTool({
    name: 'run_ceremony',
    effects: ['executes'],
    subject: ({ id }) => ({ recipient: id }),
    description: 'Begins a ceremony now. It goes on by itself; its outcome is not waited for.',
    input: z.object({ id: z.string().describe('The id of a ceremony, as get_ceremonies lists it.') }),
    async execute({ id }, { principal = work.principal, idempotencyKey }) {
      if (!ceremonies().some((ceremony) => ceremony.id === id)) return `Error: there is no ceremony ${id}.`;
      const payload = { id, requestedBy: agent };
      await bus.publish({
        topic: `ceremony.${escapeSegment(id)}.execute`,
        payload,
        id: idempotencyKey,
        correlationId: work.correlationId,
        principal: onBehalf({ principal }, agent),
      });
      return `The ceremony ${id} has begun.`;
    },
  });
}

export interface BuiltInSettings {
  /** The one directory that agents may touch. */
  directory: string;
  marks: FileMarks;
  shell: 'ask' | 'on' | 'off';
  path: string;
  sandbox: Sandbox;
}

interface ToolWork {
  agent: string;
  correlationId: string;
  principal?: Principal | undefined;
  /** `runCommand` in the agent's file. */
  mayRunCommands: boolean;
}

/** The tools of every agent beside its whitelist: files in one directory, and commands there if its file allows them. */
export function builtInTools(
  { directory, marks, shell, path, sandbox }: BuiltInSettings,
  humanInput: HumanInput,
  work: ToolWork,
  context: SkillContext,
): Tool[] {
  const files = withFileMarks(fileTools(directory), directory, marks);
  if (shell === 'off' || !work.mayRunCommands) return files;
  const command = createRunCommand({ directory, path, timeoutMs: commandTimeoutMs, sandbox, marks });
  return [...files, shell === 'on' ? runs(command) : asksFirst(command, humanInput, work, context)];
}

function runs({ tool: { external = false, originsOf }, subject, approve }: ApprovedTool): Tool {
  return defineTool({
    name: 'run_command',
    effects: ['executes'],
    external,
    subject: ({ command }) => ({ command }),
    ...(originsOf && { originsOf }),
    description: 'Runs a shell command in the directory of the file tools.',
    input,
    timeoutMs: commandTimeoutMs + 5000,
    async execute(given, context) {
      const approved = await subject(given);
      return approved === undefined
        ? 'Error: there is no command.'
        : approve(given, { ...context, subject: approved });
    },
  }) as Tool;
}

/** Asks for approval, which covers one run of this very command. */
function asksFirst(
  command: ApprovedTool,
  humanInput: HumanInput,
  { agent, correlationId, principal }: ToolWork,
  { tell }: SkillContext,
): Tool {
  return defineTool({
    name: 'run_command',
    effects: ['executes'],
    external: command.tool.external ?? false,
    subject: ({ command }) => ({ command }),
    ...(command.tool.originsOf && { originsOf: command.tool.originsOf }),
    description:
      'Runs a shell command in the directory of the file tools, after the operator has approved it.',
    input,
    timeoutMs: askLimitMs + commandTimeoutMs + 5000,
    async execute(given, call) {
      const subject = await command.subject(given);
      if (subject === undefined) return 'Error: there is no command.';
      const { signal } = call;
      const shown = { ...subject, title: `${agent}: ${subject.title}` };
      const question = `${approvalText(shown)}\nAnswer yes or no.`;
      tell({ type: 'input-start', question });
      const asker = {
        correlationId,
        principal,
        about: { tool: 'run_command', input: given, subject: shown },
      };
      const answer = await humanInput.askApproval(asker, question, askLimitMs, signal);
      tell(approvalEnd(answer));
      if (answer === undefined)
        return 'Error: nobody has approved the command yet. Say what is still open and end.';
      return answerApproval(command, given, answer, { ...call, subject });
    },
  }) as Tool;
}
