import { Badge, Button, CodeView, duration, hashRoute, useApi, useAttempt } from '@trunkline/ui';
import { RotateCcw } from 'lucide-react';
import type { Answer, FlowDetails, TraceEntry } from '../../../api-types.ts';

export function Timeline({ flow }: { flow: FlowDetails }) {
  return (
    <ol aria-label="Steps" className="flex flex-col">
      {stepsOf(flow.trace).map((step, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added at the end
        <StepRow key={index} step={step} flow={flow} />
      ))}
    </ol>
  );
}

function StepRow({ step, flow }: { step: Step; flow: FlowDetails }) {
  // Steps of agents elsewhere are stored there.
  const mayRetry = flow.status === 'complete' && flow.executorType === 'in-process';
  return (
    <li className="flex gap-3 border-line border-b px-4 py-2.5 last:border-b-0">
      <span className="w-16 shrink-0 pt-0.5 text-right font-mono text-12 text-muted">
        +{duration(Math.max(0, step.at - flow.createdAt))}
      </span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Badge tone={step.tone}>{step.title}</Badge>
          <span className="min-w-0 break-words">{step.words}</span>
          {step.tookMs !== undefined && (
            <span className="font-mono text-12 text-muted">took {duration(step.tookMs)}</span>
          )}
        </p>
        {step.whole.length > 0 && (
          <details className="mt-1">
            <summary className="cursor-pointer text-12 text-accent-text">All of it</summary>
            <div className="mt-2 flex flex-col gap-2">
              {step.whole.map(({ title, code }) => (
                <CodeView key={title} title={title} code={code} wrap />
              ))}
            </div>
          </details>
        )}
        {mayRetry && step.toolCallId !== undefined && (
          <RetryFromHere flowId={flow.id} toolCallId={step.toolCallId} title={step.title} />
        )}
      </div>
    </li>
  );
}

interface RetryProps {
  flowId: string;
  toolCallId: string;
  /** The step, read aloud: a page has the button at each. */
  title: string;
}

function RetryFromHere({ flowId, toolCallId, title }: RetryProps) {
  const api = useApi();
  const attempt = useAttempt();
  const retry = () =>
    void attempt(
      async () => {
        const path = `/api/flows/${encodeURIComponent(flowId)}/retry`;
        const { data } = await api.request<Answer<{ id: string }>>(path, { body: { toolCallId } });
        window.location.hash = hashRoute('flows', data.id);
      },
      { title: 'Runs again from that step.', detail: 'This is the new flow.' },
    );
  return (
    <Button
      className="mt-1"
      size="small"
      icon={<RotateCcw aria-hidden />}
      aria-label={`Retry from here: ${title}`}
      onClick={retry}
    >
      Retry from here
    </Button>
  );
}

interface Step {
  at: number;
  title: string;
  tone: 'plain' | 'live' | 'waiting' | 'failed';
  words: string;
  whole: { title: string; code: string }[];
  /** Only for steps with an end. */
  tookMs?: number;
  /** Only for tools. */
  toolCallId?: string;
}

/** One step per entry; a tool's call and end are one. */
export function stepsOf(trace: readonly TraceEntry[]): Step[] {
  return trace.flatMap((entry) => (entry.event === 'tool-end' ? [] : [stepOf(entry, trace)]));
}

function stepOf({ at, event, details }: TraceEntry, trace: readonly TraceEntry[]): Step {
  const fields = details ?? {};
  const step = (title: string, words: string, tone: Step['tone'] = 'plain'): Step => ({
    at,
    title,
    words,
    tone,
    whole: [],
  });
  switch (event) {
    case 'request':
      return step('Request', `for ${text(fields.skill) || 'no skill'}${addressed(fields.agent)}`);
    case 'queued':
      return step('Queued', text(fields.why), 'waiting');
    case 'dead-letter':
      return step('Dead letter', text(fields.why), 'failed');
    case 'start':
      return step('Started', `by ${text(fields.agent)}, ${text(fields.executor)}`, 'live');
    case 'elsewhere':
      return step('Elsewhere', 'another switchboard has taken it over', 'waiting');
    case 'dropped':
      return step('Dropped', text(fields.why) || text(fields.reason), 'failed');
    case 'remote-task':
      return {
        ...step('Handed over', `to ${text(fields.agent)}`),
        whole: [{ title: 'Task there', code: text(fields.taskId) }],
      };
    case 'note':
      return step('Note', text(fields.text), 'waiting');
    case 'input-start':
      return step('Asks a person', text(fields.question), 'waiting');
    case 'input-end':
      return answerStep(step, fields);
    case 'tool-start':
      return toolStep(at, fields, trace);
    case 'end':
      return endStep(step, fields);
    default:
      return { ...step(event, ''), whole: [{ title: event, code: pretty(fields) }] };
  }
}

function answerStep(
  step: (title: string, words: string, tone?: Step['tone']) => Step,
  { answered, approval }: Record<string, unknown>,
): Step {
  if (answered !== true) return step('Answer', 'did not come in time', 'failed');
  if (approval === 'denied') return step('Answer', 'was no: it was not approved', 'failed');
  return step('Answer', approval === 'given' ? 'was yes: it was approved' : 'came');
}

/** What follows the surface in the topic of the answer is the id of a channel or a person. */
function endStep(
  step: (title: string, words: string, tone: Step['tone']) => Step,
  { error, taskState, replyTopic }: Record<string, unknown>,
): Step {
  const topic = text(replyTopic);
  const surface = topic.split('.', 3).join('.');
  const words = `${text(taskState)}${topic === '' ? '' : `, answer on ${surface}`}`;
  return {
    ...step('End', text(error) || words, error === undefined ? 'live' : 'failed'),
    whole: surface === topic ? [] : [{ title: 'Answer on', code: topic }],
  };
}

function toolStep(at: number, fields: Record<string, unknown>, trace: readonly TraceEntry[]): Step {
  const end = trace.find(
    ({ event, details }) => event === 'tool-end' && details?.toolCallId === fields.toolCallId,
  );
  const failed = end?.details?.failed === true;
  return {
    at,
    title: `Tool ${text(fields.name)}`,
    tone: failed ? 'failed' : 'plain',
    words: end === undefined ? 'under way' : failed ? 'failed' : '',
    whole: [
      { title: 'given', code: pretty(fields.input) },
      ...(end ? [{ title: 'result', code: pretty(end.details?.result) }] : []),
    ],
    ...(end && { tookMs: end.at - at }),
    ...(text(fields.toolCallId) !== '' && { toolCallId: text(fields.toolCallId) }),
  };
}

function addressed(agent: unknown): string {
  return text(agent) === '' ? '' : `, meant for ${text(agent)}`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function pretty(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
}
