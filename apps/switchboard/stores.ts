import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { Responses } from '@trunkline/openai-api';
import { type SentBytes, TtlTable, ttlTableMigration } from '@trunkline/storage';
import { SharedFiles } from './cluster/shared-files.ts';
import { ChangeStore } from './control/change-store.ts';
import { ConversationStore } from './conversations/conversation-store.ts';
import { Store } from './core/store.ts';
import { hourly } from './core/timers.ts';
import { SkillStore } from './dispatch/registry.ts';
import { TaskStore } from './dispatch/task-store.ts';
import { AbStore } from './experiments/ab-tests.ts';
import { FlowStore } from './flows/flow-store.ts';
import { QuestionStore } from './human/question-store.ts';

export interface Stores {
  flows: FlowStore;
  /** Copies of the flows of other switchboards, where others share the bus. */
  flowsElsewhere: FlowStore | undefined;
  changes: ChangeStore;
  /** Where others share the bus. */
  sharedFiles: SharedFiles | undefined;
  questions: QuestionStore;
  /** Copies of the questions of other switchboards, where others share the bus. */
  questionsElsewhere: QuestionStore | undefined;
  conversations: ConversationStore;
  tasks: TaskStore;
  skills: SkillStore;
  experiments: AbStore;
  usage: UsageStore;
  responses: Responses;
  close(): void;
}

/** Opens all stores and deletes old rows every hour; `isShared` where other switchboards share the bus. */
export function openStores(home: string, logger: Logger, isShared: boolean): Stores {
  using opened = new DisposableStack();
  const open = <Store extends { close(): void }>(create: (path: string) => Store, file: string) =>
    opened.adopt(create(join(home, file)), (store) => store.close());
  const stores = {
    flows: open((path) => new FlowStore(path), 'flows.db'),
    flowsElsewhere: isShared ? open((path) => new FlowStore(path), 'flows-elsewhere.db') : undefined,
    changes: open((path) => new ChangeStore(path, { isShared }), 'changes.db'),
    sharedFiles: isShared ? open((path) => new SharedFiles(path, logger), 'shared-files.db') : undefined,
    questions: open((path) => new QuestionStore(path), 'questions.db'),
    questionsElsewhere: isShared
      ? open((path) => new QuestionStore(path), 'questions-elsewhere.db')
      : undefined,
    conversations: open((path) => new ConversationStore(path), 'conversations.db'),
    tasks: open((path) => new TaskStore(path), 'tasks.db'),
    skills: open((path) => new SkillStore(path), 'skills.db'),
    experiments: open((path) => new AbStore(path), 'experiments.db'),
    usage: open((path) => new UsageStore(path), 'usage.db'),
    responses: open((path) => new Responses(path), 'responses.db'),
  };
  const { flows, flowsElsewhere, conversations, questions, questionsElsewhere, usage } = stores;
  for (const store of [flows, flowsElsewhere, conversations, questions, questionsElsewhere, usage])
    if (store !== undefined) opened.defer(hourly(() => store.sweep(), logger));
  const closing = opened.move();
  return { ...stores, close: () => closing.dispose() };
}

/** What callers have sent today. */
class UsageStore extends Store {
  readonly sent: TtlTable<SentBytes>;

  constructor(path: string) {
    super(path, [ttlTableMigration('sent')]);
    this.sent = new TtlTable(this.database, 'sent');
  }

  sweep(): void {
    this.sent.sweep();
  }
}
