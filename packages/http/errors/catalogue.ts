import { HttpError, type HttpErrorOptions } from './http-error.ts';

/** Status, and the words as a fixed sentence or made from arguments. */
type ErrorEntry = readonly [status: number, words: string | ((args: never) => string)];

/** What the API description needs to know of an error. */
export interface ErrorKind {
  readonly code: string;
  readonly status: number;
}

type ErrorFactory<Entry extends ErrorEntry> = ErrorKind &
  (Entry[1] extends (args: infer Args) => string
    ? (args: Args, options?: HttpErrorOptions) => HttpError
    : (options?: HttpErrorOptions) => HttpError);

type ErrorCatalogue<Table extends Record<string, ErrorEntry>> = {
  readonly [Code in keyof Table]: ErrorFactory<Table[Code]>;
};

/** Turns a table of codes into functions that make the errors: `throw errors.peer_unknown({ id })`. */
export function defineErrors<const Table extends Record<string, ErrorEntry>>(
  table: Table,
): ErrorCatalogue<Table> {
  const entries = Object.entries(table).map(([code, entry]) => [code, factoryOf(code, entry)]);
  return Object.fromEntries(entries) as ErrorCatalogue<Table>;
}

function factoryOf(code: string, [status, words]: ErrorEntry): unknown {
  const make =
    typeof words === 'string'
      ? (options?: HttpErrorOptions) => new HttpError(code, status, words, options)
      : (args: never, options?: HttpErrorOptions) => new HttpError(code, status, words(args), options);
  return Object.assign(make, { code, status });
}
