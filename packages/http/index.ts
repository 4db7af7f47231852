export { type App, type AppOptions, createApp, type HealthReport } from './app/app.ts';
export { type AppEnv, type Logger, type RequestContext, type RouteContext, tenantIn } from './app/context.ts';
export {
  type AccessOptions,
  allowCallers,
  type CallerGuardOptions,
  callerGuard,
  createKeyring,
  type KeyFacts,
  type Keyring,
  keyFacts,
  type SignInContext,
  type SignInProvider,
  sessionCookie,
} from './callers/caller-guard.ts';
export { tryKeys } from './callers/limits.ts';
export { changesNothing, requireOperator, setSessionCookie } from './callers/operator-routes.ts';
export {
  defineErrors,
  type ErrorKind,
  type ErrorReply,
  type FailedRequest,
  HttpError,
  type HttpErrorOptions,
  isRefusal,
  type RenderError,
} from './errors/http-error.ts';
export {
  type AddressPolicyOptions,
  assertPublicUrl,
  createAddressPolicy,
  type Lookup,
} from './fetch/address-policy.ts';
export { fetchOnNewConnection, whyUnreachable } from './fetch/connections.ts';
export {
  createFileFetch,
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type GuardedRequest,
  type GuardedResponse,
  isUnanswered,
} from './fetch/guarded-fetch.ts';
export { refusedKind } from './fetch/special-addresses.ts';
export { createMetrics, type Metrics } from './metrics/metrics.ts';
export { describeRoute, type RouteDescription } from './openapi/describe-route.ts';
export {
  createOriginCheck,
  isLoopbackHost,
  type OriginCheck,
  refuseForeignName,
} from './origins/origin-guard.ts';
export { plainPage } from './pages/plain-page.ts';
export { type PagesOptions, servePages } from './pages/serve-pages.ts';
export { mountFileLinks, type OpenLink } from './routes/file-links.ts';
export { listRoutes, type RouteEntry } from './routes/list-routes.ts';
export {
  ACCESS_CHECK_MS,
  type AcceptConnection,
  type RunningServer,
  type ServeOptions,
  StartError,
  serve,
} from './server/serve.ts';
export {
  formatSseFrame,
  type ReceivedEvent,
  readSse,
  type SseEvent,
  type SseFrame,
  type SsePullOptions,
  type SsePushOptions,
  type SseSource,
  type SseSubscriber,
  sse,
} from './sse/sse.ts';
export { answerText, type StreamTextOptions, streamText } from './stream/response-stream.ts';
export {
  parseJson,
  readJson,
  ValidationError,
  type ValidationIssue,
  validate,
} from './validation/validate.ts';
