/** The part of a logger that the package uses. */
export interface Logger {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}
