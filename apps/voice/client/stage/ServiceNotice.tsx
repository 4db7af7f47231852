import { type HealthResource, IconButton, Lamp } from '@trunkline/ui';
import { X } from 'lucide-react';
import { useState } from 'react';

/** One line about a service that is not as it should be; can be put away until it changes. */
export function ServiceNotice({ resource }: { resource: HealthResource }) {
  const [dismissed, setDismissed] = useState('');
  const notice = noticeOf(resource);
  const words = notice === undefined ? '' : `${notice.what} ${notice.todo}`;
  if (notice === undefined || words === dismissed) return null;
  return (
    <div
      role="status"
      className="mx-4 flex items-start gap-2 rounded-corner bg-waiting-wash py-1 pr-1 pl-3 text-14"
    >
      <Lamp state={notice.failed ? 'failed' : 'waiting'} dotOnly className="mt-1.5" />
      <p className="min-w-0 flex-1 py-1 break-words">
        <span className="font-medium">{notice.what}</span> {notice.todo}
      </p>
      <IconButton
        label="Dismiss"
        icon={<X aria-hidden />}
        small
        side="bottom"
        onClick={() => setDismissed(words)}
      />
    </div>
  );
}

interface Notice {
  failed: boolean;
  what: string;
  todo: string;
}

function noticeOf({ health, error }: HealthResource): Notice | undefined {
  if (error !== undefined) return { failed: true, what: 'The service does not answer.', todo: error.advice };
  if (health === undefined) return undefined;
  const parts = (health.missing ?? []).map(({ what, hint }) =>
    hint === undefined ? `${what}.` : `${what}: ${hint}`,
  );
  if (health.state !== 'live') {
    const todo = parts.length > 0 ? parts.join(' ') : 'Answers may be slow or fail until it has recovered.';
    return { failed: false, what: `The service is ${health.word.toLowerCase()}.`, todo };
  }
  const speech = health.facts.find(({ key }) => key === 'speech.warnings')?.value;
  if (speech === undefined || speech === 'none') return undefined;
  return { failed: false, what: 'Speech is not at its best.', todo: speech };
}
