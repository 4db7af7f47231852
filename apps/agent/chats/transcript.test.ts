import { expect, it } from 'vitest';
import { Transcript } from './transcript.ts';

type Event = Parameters<Transcript['apply']>[0];

it('shows how far a tool is while it runs, beside it and not as a note', () => {
  const created_at = 1;
  const transcript = new Transcript({
    task_id: 't',
    session_id: 's',
    state: 'working',
    entries: [],
    usage: null,
    duration_ms: null,
    created_at,
  });
  const frame = (phase: string) =>
    ({
      type: 'artifact',
      append: false,
      artifact: {
        artifactId: 'a',
        parts: [{ type: 'data', data: { toolCallId: 'c1', name: 'copy', phase, result: 'done' } }],
      },
    }) as unknown as Event;
  const status = (toolCallId: string, text: string) =>
    ({
      type: 'status',
      state: 'working',
      at: 2,
      message: { parts: [{ type: 'text', text, metadata: { toolCallId } }] },
    }) as unknown as Event;
  transcript.apply(frame('started'));
  transcript.apply(status('c1', 'copy: 25 %'));
  transcript.apply(status('other', 'other: 50 %'));
  expect(transcript.turn.entries).toMatchObject([{ kind: 'tool', phase: 'started', progress: '25 %' }]);
  transcript.apply(frame('completed'));
  transcript.apply(status('c1', 'copy: 100 %'));
  expect(transcript.turn.entries).toHaveLength(1);
  expect(transcript.turn.entries[0]).toMatchObject({ kind: 'tool', phase: 'completed' });
  expect(transcript.turn.entries[0]).not.toHaveProperty('progress');
});
