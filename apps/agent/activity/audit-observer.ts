import type { TurnObserver } from '../turns/turn-runner.ts';

interface AuditTrail {
  record(entry: {
    sessionId: string;
    tool: string;
    args: unknown;
    result: string;
    durationMs: number;
    success: boolean;
  }): void;
}

const maxOpenCalls = 10_000;

/** Puts every tool call of every turn, those of helpers included, into the audit log. */
export function observeForAudit(log: AuditTrail, isOn: () => boolean): TurnObserver {
  const inputs = new Map<string, unknown>();
  const remember = (call: string, input: unknown) => {
    inputs.set(call, input);
    // Calls whose turn broke off never end.
    const oldest = inputs.keys().next().value;
    if (inputs.size > maxOpenCalls && oldest !== undefined) inputs.delete(oldest);
  };
  return {
    turnEvent(sessionId, event) {
      if (event.type !== 'tool-start' && event.type !== 'tool-end') return;
      const call = `${sessionId} ${event.toolCallId}`;
      if (event.type === 'tool-start') return remember(call, event.input);
      const { name: tool, result, durationMs, failed } = event;
      const args = inputs.get(call);
      inputs.delete(call);
      if (isOn()) log.record({ sessionId, tool, args, result, durationMs, success: !failed });
    },
  };
}
