export type { Checkpoint, CheckpointCall } from './checkpoint.ts';
export { CheckpointError, parseCheckpoint } from './checkpoint.ts';
export type { Compaction } from './compaction.ts';
export { compact } from './compaction.ts';
export type {
  EndEvent,
  ErrorEvent,
  FinishReason,
  PauseEvent,
  TurnErrorCode,
  TurnEvent,
  Usage,
} from './events.ts';
export type {
  CompactionOptions,
  ResumeTurnOptions,
  RunTurnOptions,
  TurnLimits,
  TurnOptions,
} from './options.ts';
export { estimateTokens } from './tokens.ts';
export { resumeTurn, runTurn } from './turn.ts';
