export { CircuitBreaker, type CircuitState } from './circuit-breaker.ts';
export { BoundedMap, lazy, Roster } from './collections.ts';
export {
  Deadline,
  formatDuration,
  TimeoutError,
  untilAborted,
  whenAborted,
  withTimeout,
} from './deadline.ts';
export {
  CodedError,
  connectionFailure,
  errorMessage,
  isCutConnection,
  systemCode,
  toError,
} from './error-message.ts';
export { limitBody } from './limit-body.ts';
export { ConcurrencyLimiter, KeyedQueue, Mutex, QueueFullError, type Slot } from './queues.ts';
export { describeSchedule, scheduleNicknames } from './schedule-words.ts';
export {
  type ConnectorCheck,
  type ConnectorsView,
  type ConnectorView,
  type FoundGateway,
  type FoundGateways,
  type HeardSpeech,
  type ModelList,
  type ModelPlace,
  type ModelTest,
  type ModelUnderTest,
  morningDigest,
  morningDigestJob,
  type ProviderPreset,
  type SavedModel,
  type SearchTrial,
  type SetModel,
  type SettingSource,
  type SettingsChange,
  type SettingsView,
  type SettingView,
  type SetupRole,
  type SetupStep,
  type SetupSteps,
  type SetupView,
  type SpeechSetup,
  type StepState,
  testMessage,
  testTopicAt,
} from './setup-api.ts';
export { offlineSuggestions, type Suggestion, suggestions } from './suggestions.ts';
export { canonicalJson, plainName } from './text.ts';
export type {
  AccountRole,
  AccountsView,
  ApprovalView,
  AuditEntry,
  AuditVerification,
  BudgetUse,
  BudgetView,
  DescriptionView,
  ExplainedCall,
  LineProblem,
  PolicyRuleView,
  PolicyToolView,
  PolicyVerdict,
  PolicyView,
  PostureView,
  SecretInfo,
  SecretsView,
  TriedCall,
} from './trust-api.ts';
export { type ApprovalAnswer, answerWords, readVerdict } from './verdict.ts';
