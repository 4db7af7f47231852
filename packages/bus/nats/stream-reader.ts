import { AckPolicy, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { found, type Resources } from './resources.ts';

export interface StreamRange {
  stream: string;
  /** Must lie within the subjects of the stream. */
  filter?: string | undefined;
  /** The first sequence to look at. */
  from: number;
}

const fetchSize = 500;
const fetchTimeoutMs = 2000;
const idleMs = 30_000;

/** Goes over the stored messages of a stream in order, up to those that were there at the start. */
export async function* readStream({ client, manager }: Resources, range: StreamRange): AsyncGenerator<JsMsg> {
  const { name, num_pending } = await manager.consumers.add(range.stream, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(range.from, 1),
    ...(range.filter === undefined ? {} : { filter_subject: range.filter }),
    inactive_threshold: nanos(idleMs),
  });
  try {
    const consumer = await client.consumers.get(range.stream, name);
    for (let left = num_pending; left > 0; ) {
      const batch = await consumer.fetch({
        max_messages: Math.min(left, fetchSize),
        expires: fetchTimeoutMs,
      });
      const before = left;
      for await (const message of batch) {
        left -= 1;
        yield message;
      }
      if (left === before) return;
    }
  } finally {
    await found(manager.consumers.delete(range.stream, name));
  }
}
