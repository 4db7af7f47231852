import {
  Button,
  ErrorState,
  hashRoute,
  Lamp,
  Panel,
  Skeleton,
  useApi,
  useAttempt,
  useResource,
} from '@trunkline/ui';
import { ArrowLeft, RotateCcw } from 'lucide-react';
import type { Answer, FlowDetails } from '../../../api-types.ts';
import { Frame } from '../../app/Frame.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { FlowFacts } from './FlowFacts.tsx';
import { FlowMessages } from './FlowMessages.tsx';
import { lampOf, titleOf, workOf } from './labels.ts';
import { Timeline } from './Timeline.tsx';

/** One flow: why it went where it went, how long each part took, what it cost, and every step on the way. */
export function FlowPage({ id }: { id: string }) {
  const path = `/api/flows/${encodeURIComponent(id)}`;
  const { body, error, reload } = useResource<Answer<FlowDetails>>(path);
  useReloadOn(['flow.item.#', 'agent.input.#', 'agent.skill.#'], reload);
  const flow = body?.data;
  return (
    <Frame
      title={flow ? titleOf(flow) : 'Flow'}
      intro={
        <a
          className="inline-flex items-center gap-1 text-accent-text underline underline-offset-2"
          href={hashRoute('flows')}
        >
          <ArrowLeft aria-hidden className="size-4" /> All flows
        </a>
      }
      actions={flow && <Replay path={path} />}
    >
      {error && !flow && (
        <ErrorState what="The flow could not be loaded." why={error.message} todo={error.advice} />
      )}
      {!flow && !error && <Skeleton rows={8} />}
      {flow && <Whole flow={flow} />}
    </Frame>
  );
}

function Replay({ path }: { path: string }) {
  const api = useApi();
  const attempt = useAttempt();
  const replay = () =>
    void attempt(
      async () => {
        const { data } = await api.request<Answer<{ id: string }>>(`${path}/replay`, { method: 'POST' });
        window.location.hash = hashRoute('flows', data.id);
      },
      { title: 'Asked once more.', detail: 'This is the new flow.' },
    );
  return (
    <Button variant="primary" icon={<RotateCcw aria-hidden />} onClick={replay}>
      Replay
    </Button>
  );
}

function Whole({ flow }: { flow: FlowDetails }) {
  const { lamp, word } = lampOf(flow);
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <Lamp state={lamp} word={word} />
        {flow.requestPreview !== null && (
          <span className="min-w-0 break-words text-muted">{workOf(flow)}</span>
        )}
      </p>
      {flow.errorPreview && (
        <ErrorState
          what="It came to nothing."
          why={flow.errorPreview}
          todo="Mend the cause, then replay it; Routes shows where a message would go."
        />
      )}
      <div className="grid items-start gap-4 lg:grid-cols-[2fr_3fr]">
        <FlowFacts flow={flow} />
        <Panel title="Step by step" flush>
          <Timeline flow={flow} />
        </Panel>
      </div>
      <FlowMessages correlationId={flow.correlationId} />
    </>
  );
}
