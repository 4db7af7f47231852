export type { AskReason, Checkpoint } from './checkpoint.ts';
export { CheckpointError, parseCheckpoint } from './checkpoint.ts';
export { compact, compactionNote } from './compaction.ts';
export type { AnswerContent, Content, NewFile, StoredFile, TurnFiles } from './content/content.ts';
export {
  attachTo,
  fitContents,
  recognised,
  unreadable,
  unseen,
  userContent,
  withMedia,
} from './content/content.ts';
export { ContentError, ContentStore, type FileRecord } from './content/content-store.ts';
export { markOfDropped } from './known-addresses.ts';
export type {
  CompactionOptions,
  EndEvent,
  ErrorEvent,
  PauseEvent,
  RunTurnOptions,
  Step,
  StepLog,
  TurnEvent,
  TurnLimits,
  TurnOptions,
  TurnPolicy,
  TurnStepOptions,
  Usage,
} from './options.ts';
export { interruptedRule, leavesTurn, StepConflictError, stepsBefore } from './step-log.ts';
export { createBorder, fenceInstructions, markOf, originsIn } from './taint.ts';
export { resumeTurn, runTurn } from './turn.ts';
export { describedOrigins } from './turn-state.ts';
export { cutText, estimateTokens, promptBudget } from './usage.ts';
