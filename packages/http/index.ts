export { type App, type AppOptions, createApp } from './app/app.ts';
export type { AppEnv, RequestContext, RouteContext } from './app/context.ts';
export type { Logger } from './app/logger.ts';
export { allowCallers } from './callers/allow-callers.ts';
export { type CallerGuardOptions, callerGuard } from './callers/caller-guard.ts';
export { type AccessOptions, sessionCookie } from './callers/identify.ts';
export { createKeyring, type Keyring } from './callers/keyring.ts';
export { requireOperator } from './callers/operator-routes.ts';
export { defineErrors, type ErrorKind } from './errors/catalogue.ts';
export { HttpError, type HttpErrorOptions } from './errors/http-error.ts';
export type { ErrorReply, FailedRequest, RenderError } from './errors/render.ts';
export type { AddressPolicyOptions, Lookup } from './fetch/address-policy.ts';
export {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type GuardedRequest,
  type GuardedResponse,
} from './fetch/guarded-fetch.ts';
export { assertPublicUrl } from './fetch/public-url.ts';
export { untilAborted } from './fetch/until-aborted.ts';
export type { HealthReport } from './health/mount-health.ts';
export { createMetrics, type Metrics } from './metrics/metrics.ts';
export { describeRoute, type RouteDescription } from './openapi/describe-route.ts';
export { isLoopbackHost } from './origins/loopback.ts';
export { createOriginCheck, type OriginCheck } from './origins/origin-guard.ts';
export { refuseForeignName } from './origins/page-guard.ts';
export { type PagesOptions, servePages } from './pages/serve-pages.ts';
export { listRoutes, type RouteEntry } from './routes/list-routes.ts';
export { type RunningServer, type ServeOptions, serve } from './server/serve.ts';
export { StartError } from './server/start-error.ts';
export { formatSseFrame, type SseEvent } from './sse/frame.ts';
export { type ReceivedEvent, readSse } from './sse/read-sse.ts';
export { sse } from './sse/sse.ts';
export type { SseFrame, SsePullOptions, SsePushOptions, SseSource, SseSubscriber } from './sse/types.ts';
export { answerText } from './stream/answer-text.ts';
export { type StreamTextOptions, streamText } from './stream/stream-text.ts';
export { parseJson } from './validation/parse-json.ts';
export { readJson } from './validation/read-body.ts';
export { validate } from './validation/validate.ts';
export { ValidationError, type ValidationIssue } from './validation/validation-error.ts';
