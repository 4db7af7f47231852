import type { PostureView } from '@trunkline/std';
import { RefreshCw } from 'lucide-react';
import { IconButton } from '../../src/components/Button.tsx';
import { Lamp } from '../../src/components/Lamp.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { RelativeTime } from '../../src/components/RelativeTime.tsx';
import { useResource } from '../../src/hooks/useResource.ts';
import { POSTURE_LAMPS, worstFirst } from '../../src/status/PostureLine.tsx';

/** File names such as .env stay as they are. */
function withCapital(subject: string): string {
  return subject.charAt(0).toUpperCase() + subject.slice(1);
}

/** Weak spots of the installation, the worst first, and what to do about each. */
export default function PostureTab() {
  const resource = useResource<PostureView>('/operator/posture');
  return (
    <Loaded resource={resource} failed="The weak spots could not be looked for.">
      {({ service, checkedAt, findings }) => (
        <Panel
          title="Weak spots"
          detail={
            <>
              As the service {service} sees them. <code>npx trunkline audit</code> looks at all four services,
              and with <code>--fix</code> mends file rights.
            </>
          }
          actions={
            <>
              <span className="text-12 text-muted">
                Checked <RelativeTime at={checkedAt} />
              </span>
              <IconButton label="Check again" icon={<RefreshCw aria-hidden />} onClick={resource.reload} />
            </>
          }
          flush
        >
          <ul>
            {worstFirst(findings).map(({ subject, state, words, advice }) => (
              <li
                key={`${subject} ${words}`}
                className="flex gap-3 border-line border-b px-4 py-3 last:border-b-0 max-sm:flex-col max-sm:gap-1"
              >
                <Lamp {...POSTURE_LAMPS[state]} className="w-24 shrink-0 self-start" />
                <div className="min-w-0 flex-1 text-14 break-words">
                  <p>
                    <span className="inline-block font-medium">{withCapital(subject)}</span>: {words}
                  </p>
                  {advice && <p className="text-muted">{advice}</p>}
                </div>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </Loaded>
  );
}
