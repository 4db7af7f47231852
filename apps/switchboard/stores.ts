import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { ChangeStore } from './control/change-store.ts';
import { ConversationStore } from './conversations/conversation-store.ts';
import { hourly } from './core/hourly.ts';
import { SkillStore } from './dispatch/skill-store.ts';
import { TaskStore } from './dispatch/task-store.ts';
import { AbStore } from './experiments/ab-store.ts';
import { FlowStore } from './flows/flow-store.ts';
import { QuestionStore } from './human/question-store.ts';

/** What the switchboard keeps on disk beside the bus and the workspace. */
export interface Stores {
  flows: FlowStore;
  changes: ChangeStore;
  questions: QuestionStore;
  conversations: ConversationStore;
  tasks: TaskStore;
  skills: SkillStore;
  experiments: AbStore;
}

/** Opens all stores under one directory, and sweeps out what is old every hour. */
export function openStores(home: string, closing: AsyncDisposableStack, logger: Logger): Stores {
  const open = <Store extends { close(): void }>(make: (path: string) => Store, file: string) => {
    const store = make(join(home, file));
    closing.defer(() => store.close());
    return store;
  };
  const stores = {
    flows: open((path) => new FlowStore(path), 'flows.db'),
    changes: open((path) => new ChangeStore(path), 'changes.db'),
    questions: open((path) => new QuestionStore(path), 'questions.db'),
    conversations: open((path) => new ConversationStore(path), 'conversations.db'),
    tasks: open((path) => new TaskStore(path), 'tasks.db'),
    skills: open((path) => new SkillStore(path), 'skills.db'),
    experiments: open((path) => new AbStore(path), 'experiments.db'),
  };
  const { flows, conversations, questions } = stores;
  closing.defer(hourly(() => flows.sweep(), logger));
  closing.defer(hourly(() => conversations.sweep(), logger));
  closing.defer(hourly(() => questions.sweep(), logger));
  return stores;
}
