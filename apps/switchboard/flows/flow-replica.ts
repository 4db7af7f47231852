import type { TraceEntry } from '../api-types.ts';
import type { SharedRows } from '../cluster/row-replica.ts';
import type { QuestionStore } from '../human/question-store.ts';
import type { FlowStore, SharedFlow } from './flow-store.ts';

/** Questions that end with the flow that they are about. */
interface FlowQuestions {
  own: Pick<QuestionStore, 'withdraw'>;
  elsewhere: Pick<QuestionStore, 'withdraw'> | undefined;
}

/**
 * The flows of this switchboard for the others, and theirs for this one, which withdraws questions about those that
 * ended. The trace is shared once, when a flow has ended: the journal would hold it again and again.
 */
export function sharedFlows(
  own: FlowStore,
  elsewhere: FlowStore,
  questions: FlowQuestions,
): SharedRows<SharedFlow> {
  return {
    subject: 'flows',
    onChange: (listener) => own.onChange(listener),
    read(id, maxBytes) {
      const row = own.shared(id);
      if (row === undefined) return undefined;
      // Whoever had it before is gone, or works on it no more.
      elsewhere.drop(row.messageId);
      const { completedAt } = row.flow;
      if (completedAt !== null && !own.hasOpen(row.correlationId))
        questions.elsewhere?.withdraw(row.correlationId, completedAt);
      const hasEnded = row.flow.status === 'complete';
      return { ...row, trace: hasEnded ? fitting(row.trace, maxBytes - overheadBytes) : [] };
    },
    newest: (limit, since) => own.newest(limit, since),
    take(row, node) {
      const { flow, messageId, correlationId } = row;
      const ownId = own.ofMessage(messageId, correlationId)?.id;
      if (ownId === undefined) {
        // Switchboards that do not know of each other's requests give flows of one correlation the same id.
        const isTaken = [own, elsewhere].some((store) => isOfAnother(store, flow.id, messageId));
        elsewhere.take({ ...row, flow: { ...flow, id: isTaken ? `${flow.id}-${messageId}` : flow.id } });
      } else own.take({ ...row, flow: { ...flow, id: ownId } });
      const { completedAt } = flow;
      if (completedAt === null || own.hasOpen(correlationId)) return;
      if (ownId !== undefined) questions.own.withdraw(correlationId, completedAt);
      // Who did the work keeps its questions open for whoever asks again.
      if (!elsewhere.hasOpen(correlationId)) questions.elsewhere?.withdraw(correlationId, completedAt, node);
    },
  };
}

function isOfAnother(store: FlowStore, id: string, messageId: string): boolean {
  const known = store.originOf(id);
  return known !== undefined && known.messageId !== messageId;
}

/** More than all of a flow but its trace takes. */
const overheadBytes = 16_384;

/** The entries that fit, with one that says how many are left out. */
function fitting(trace: TraceEntry[], maxBytes: number): TraceEntry[] {
  let bytes = 0;
  const end = trace.findIndex((entry) => {
    bytes += Buffer.byteLength(JSON.stringify(entry));
    return bytes > maxBytes;
  });
  if (end === -1) return trace;
  const at = trace[end]?.at ?? 0;
  return [...trace.slice(0, end), { at, event: 'cut', details: { entriesLeftOut: trace.length - end } }];
}
