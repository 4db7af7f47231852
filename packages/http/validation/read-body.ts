import type { HonoRequest } from 'hono';
import { HttpError } from '../errors/http-error.ts';
import { parseJson } from './parse-json.ts';
import { ValidationError } from './validation-error.ts';

/** The body as JSON whatever content type it claims; undefined when it is empty. */
export async function readJson(request: HonoRequest): Promise<unknown> {
  const text = await request.text();
  if (text.trim() === '') return undefined;
  try {
    return parseJson(text);
  } catch (error) {
    throw new ValidationError(
      [{ loc: ['body'], msg: 'The body is not valid JSON.' }],
      'malformed_json',
      error,
    );
  }
}

/** The fields of a form; a field that comes several times is a list. */
export async function readForm(request: HonoRequest): Promise<unknown> {
  try {
    return await request.parseBody({ all: true });
  } catch (error) {
    throw limitError(error) ?? malformedForm(error);
  }
}

function malformedForm(error: unknown): ValidationError {
  return new ValidationError(
    [{ loc: ['body'], msg: 'The body is not a readable form.' }],
    'malformed_form',
    error,
  );
}

/** The form reader wraps what stopped the body, such as its size limit. */
function limitError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  return error instanceof Error && error.cause !== undefined ? limitError(error.cause) : undefined;
}
