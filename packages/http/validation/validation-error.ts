import { HttpError } from '../errors/http-error.ts';

export interface ValidationIssue {
  /** Where it is: `body`, `query` or `path`, then the field. */
  loc: (string | number)[];
  msg: string;
}

export type ValidationCode = 'validation_failed' | 'malformed_json' | 'malformed_form';

/** Input that is not what the route takes. Carries 400; a service's renderer may answer 422. */
export class ValidationError extends HttpError {
  readonly issues: readonly ValidationIssue[];

  constructor(
    issues: readonly ValidationIssue[],
    code: ValidationCode = 'validation_failed',
    cause?: unknown,
  ) {
    super(code, 400, summary(issues), { details: issues, cause });
    this.name = 'ValidationError';
    this.issues = issues;
  }
}

function summary(issues: readonly ValidationIssue[]): string {
  return issues.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
}
