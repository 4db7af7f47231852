export type { Checkpoint, CheckpointCall } from './checkpoint.ts';
export { CheckpointError, parseCheckpoint } from './checkpoint.ts';
export type { Compaction } from './compaction.ts';
export { compact } from './compaction.ts';
export type {
  CompactionOptions,
  EndEvent,
  ErrorEvent,
  FinishReason,
  PauseEvent,
  ResumeTurnOptions,
  RunTurnOptions,
  TurnErrorCode,
  TurnEvent,
  TurnLimits,
  TurnOptions,
  Usage,
} from './options.ts';
export { resumeTurn, runTurn } from './turn.ts';
export { estimateTokens } from './usage.ts';
