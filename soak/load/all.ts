import { inboxLoad, memoryLoad, notesLoad } from './keepsakes.ts';
import type { Ground, Load } from './load.ts';
import { messageLoad, relayLoad } from './messages.ts';
import { researchLoad } from './research.ts';
import { agentScheduleLoad, manualRunLoad, oneShotLoad, recurringLoad } from './schedules.ts';
import { streamLoad } from './streams.ts';
import { questionLoad, taskLoad } from './tasks.ts';

/** Everything that is asked of the four services at the same time. */
export function allLoads(ground: Ground): Load[] {
  return [
    taskLoad(ground, 'agent'),
    streamLoad(ground),
    questionLoad(ground),
    taskLoad(ground, 'voice'),
    researchLoad(ground),
    messageLoad(ground),
    relayLoad(ground),
    oneShotLoad(ground),
    recurringLoad(ground),
    manualRunLoad(ground),
    agentScheduleLoad(ground),
    memoryLoad(ground),
    notesLoad(ground),
    inboxLoad(ground),
  ];
}
