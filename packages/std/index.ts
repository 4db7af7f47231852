export { BoundedMap } from './bounded-map.ts';
export { CircuitBreaker, type CircuitBreakerOptions, type CircuitState } from './circuit-breaker.ts';
export {
  Deadline,
  type DeadlineOptions,
  TimeoutError,
  untilAborted,
  whenAborted,
  withTimeout,
} from './deadline.ts';
export { formatDuration } from './duration.ts';
export { CodedError, connectionFailure, errorMessage, systemCode, toError } from './error-message.ts';
export {
  type AcquireOptions,
  ConcurrencyLimiter,
  type ConcurrencyLimiterOptions,
  KeyedQueue,
  Mutex,
  QueueFullError,
  type Slot,
} from './queues.ts';
export { Roster } from './roster.ts';
export type { SettingSource, SettingsChange, SettingsView, SettingView } from './settings-api.ts';
export type {
  FoundGateway,
  FoundGateways,
  ModelFileView,
  ModelList,
  ModelPlace,
  ModelTest,
  ModelUnderTest,
  ProviderPreset,
  SavedModel,
  SetModel,
  SetupRole,
  SetupStep,
  SetupSteps,
  SetupView,
  StepState,
} from './setup-api.ts';
export {
  type ConnectorCheck,
  type ConnectorsView,
  type ConnectorView,
  type HeardSpeech,
  type SearchTrial,
  type SpeechSetup,
  testMessage,
  testTopicAt,
} from './setup-steps-api.ts';
export { offlineSuggestions, type Suggestion, suggestions } from './suggestions.ts';
export type {
  AccountRole,
  AccountsView,
  AuditEntry,
  AuditVerification,
  BudgetUse,
  BudgetView,
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
