export const controlPlaneErrorCodes = [
  'name_refused',
  'record_refused',
  'entry_unknown',
  'entry_twice',
  'change_unknown',
  'change_overtaken',
] as const;

export type RegistrarErrorCode = (typeof controlPlaneErrorCodes)[number];

/** A change of the workspace that is refused; the words say why and what to do. */
export class ControlPlaneError extends Error {
  readonly code: RegistrarErrorCode;

  constructor(code: RegistrarErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RegistrarError';
    this.code = code;
  }
}
