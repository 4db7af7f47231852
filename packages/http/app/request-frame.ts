import type { Principal } from '@trunkline/identity';
import type { HeaderReader } from '../callers/credentials.ts';
import { type RenderError, respondToError } from '../errors/render.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { type AnsweredRequest, recordRequest } from './access-log.ts';
import type { KitVariables, RequestContext } from './context.ts';
import type { Logger } from './logger.ts';
import { type RequestCheck, runChecks } from './request-check.ts';
import { chooseRequestId } from './request-id.ts';
import { RequestLogger } from './request-logger.ts';
import { standardHeaders } from './security-headers.ts';

export interface FrameOptions {
  logger: Logger;
  metrics: Metrics | undefined;
  renderError: RenderError;
  allowedHosts: readonly string[];
  checks: readonly RequestCheck[];
  identify: (request: HeaderReader) => Principal;
}

/** What goes round every request, whoever finds its route. */
export class RequestFrame {
  readonly #options: FrameOptions;

  constructor(options: FrameOptions) {
    this.#options = options;
  }

  /** What handlers find in their context; the id is the caller's where it gave a sane one. */
  begin(request: HeaderReader): KitVariables {
    const { logger, metrics, allowedHosts, identify } = this.#options;
    const requestId = chooseRequestId(request.header('x-request-id'));
    return {
      requestId,
      logger: new RequestLogger(logger, requestId),
      metrics,
      standardHeaders: standardHeaders(requestId),
      allowedHosts,
      principal: identify(request),
    };
  }

  /** Throws for a request that no route may see, or answers it. */
  check(context: RequestContext): Response | undefined {
    return runChecks(this.#options.checks, context);
  }

  refuse(thrown: unknown, context: RequestContext): Response {
    return respondToError(thrown, context, this.#options.renderError);
  }

  record(context: RequestContext, answered: AnsweredRequest): void {
    recordRequest(context, this.#options.logger, answered);
  }
}
