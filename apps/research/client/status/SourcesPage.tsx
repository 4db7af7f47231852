import {
  ErrorState,
  Lamp,
  Line,
  ModelBadge,
  Panel,
  RelativeTime,
  Skeleton,
  useHealth,
  useResource,
} from '@trunkline/ui';
import type { SourceHealth } from '../../api-types.ts';
import { PageFrame } from '../PageFrame.tsx';
import { sourceLamp } from './sourceWords.ts';

const REFRESH_MS = 10_000;

/** Where answers come from, and whether each source works. */
export function SourcesPage() {
  const { body, error } = useResource<{ sources: SourceHealth[] }>('/healthz', { refreshMs: REFRESH_MS });
  return (
    <PageFrame title="Sources" detail="Where answers and reports come from, and whether each source works.">
      {error && <ErrorState what="The state could not be read." why={error.message} todo={error.advice} />}
      {!body && !error && <Skeleton rows={4} />}
      {body && (
        <Panel title="Sources" flush>
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
      detail={source.state === 'failing' ? source.words : undefined}
      trail={
        <>
          {source.at && <RelativeTime at={source.at} />}
          <Lamp {...sourceLamp(source)} />
        </>
      }
    />
  );
}

function ModelPanel() {
  const { health } = useHealth();
  if (health === undefined) return null;
  const { model, missing = [] } = health;
  return (
    <Panel title="Set-up" flush>
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
    </Panel>
  );
}
