import {
  ErrorState,
  Lamp,
  type LampState,
  Line,
  ModelBadge,
  Panel,
  PostureLine,
  RelativeTime,
  Skeleton,
  useHealth,
  useResource,
} from '@trunkline/ui';
import type { SourceHealth } from '../../api-types.ts';
import { hrefOf } from '../lib/route.ts';
import { PageFrame } from '../PageFrame.tsx';

const LAMPS: Record<SourceHealth['state'], { state: LampState; word: string }> = {
  ok: { state: 'live', word: 'Answers' },
  failing: { state: 'failed', word: 'Fails' },
  unknown: { state: 'idle', word: 'Not asked yet' },
};

const REFRESH_MS = 10_000;

/** Where answers come from, and whether each source works. */
export function SourcesPage() {
  const { body, error } = useResource<{ sources: SourceHealth[] }>('/healthz', { refreshMs: REFRESH_MS });
  return (
    <PageFrame title="Sources" detail="Where answers and reports come from, and whether each source works.">
      {error && <ErrorState what="The state could not be read." why={error.message} todo={error.advice} />}
      {!body && !error && <Skeleton rows={4} />}
      {body && (
        <Panel title="Sources" hideTitle flush>
          <ul>
            {body.sources.map((source) => (
              <SourceLine key={source.name} source={source} />
            ))}
          </ul>
        </Panel>
      )}
      <ModelPanel />
    </PageFrame>
  );
}

function SourceLine({ source }: { source: SourceHealth }) {
  return (
    <Line
      title={source.title}
      detail={
        source.at && (
          <>
            Asked <RelativeTime at={source.at} />
            {source.state === 'failing' && `. ${source.words}`}
          </>
        )
      }
      trail={<Lamp {...sourceLamp(source)} />}
    />
  );
}

function ModelPanel() {
  const { health } = useHealth();
  if (health === undefined) return null;
  const { model, missing = [] } = health;
  return (
    <Panel title="Configuration" flush>
      <ul>
        {model && (
          <Line
            title={model.name}
            detail={model.url ?? 'The model that writes'}
            trail={<ModelBadge model={model} />}
          />
        )}
        {missing.map(({ what, variable, hint }) => (
          <Line
            key={what}
            title={`${what} is not set up`}
            detail={hint}
            trail={variable && <code className="text-12">{variable}</code>}
          />
        ))}
      </ul>
      <PostureLine />
    </Panel>
  );
}

/** Which sources answer, in one line below the box. */
export function SourcesLine({ sources }: { sources: readonly SourceHealth[] | undefined }) {
  if (sources === undefined || sources.length === 0) return null;
  return (
    <a
      href={hrefOf({ name: 'sources' })}
      className="flex flex-wrap gap-x-4 gap-y-1 self-start rounded-small px-2 py-1"
    >
      <span className="sr-only">Health of the sources:</span>
      {sources.map((source) => (
        <Lamp
          key={source.name}
          size="small"
          state={sourceLamp(source).state}
          word={source.state === 'failing' ? `${source.title} fails` : source.title}
        />
      ))}
    </a>
  );
}

function sourceLamp({ state }: SourceHealth): { state: LampState; word: string } {
  return LAMPS[state];
}
