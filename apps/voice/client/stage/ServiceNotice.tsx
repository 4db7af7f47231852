import { type HealthResource, Lamp } from '@trunkline/ui';

/** One line about a service that is not as it should be. */
export function ServiceNotice({ resource }: { resource: HealthResource }) {
  const notice = noticeOf(resource);
  if (notice === undefined) return null;
  return (
    <div role="status" className="mx-4 flex gap-2 rounded-corner bg-waiting-wash px-3 py-2 text-14">
      <Lamp state={notice.failed ? 'failed' : 'waiting'} dotOnly className="mt-0.5 self-start" />
      <p className="min-w-0 break-words">
        <span className="font-medium">{notice.what}</span> {notice.todo}
      </p>
    </div>
  );
}

function noticeOf({ health, error }: HealthResource) {
  if (error !== undefined) return { failed: true, what: 'The service does not answer.', todo: error.advice };
  if (health === undefined || health.state === 'live') return undefined;
  const parts = (health.missing ?? []).map(({ what, hint }) =>
    hint === undefined ? `${what}.` : `${what}: ${hint}`,
  );
  const todo = parts.length > 0 ? parts.join(' ') : 'Answers may be slow or fail until it has recovered.';
  return { failed: false, what: `The service is ${health.word.toLowerCase()}.`, todo };
}
