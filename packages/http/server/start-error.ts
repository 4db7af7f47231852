/** Why a server could not start, in words that name the setting to change. */
export class StartError extends Error {
  readonly code: string;

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'StartError';
    this.code = code;
  }
}

export interface ListenTarget {
  host: string;
  port: number;
  portVariable: string;
}

export function toStartError(error: NodeJS.ErrnoException, target: ListenTarget): StartError {
  const { host, port, portVariable } = target;
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartError(
        'port_taken',
        `Port ${port} on ${host} is already in use. Stop the program that has it, or set ${portVariable} to another port.`,
        error,
      );
    case 'EACCES':
      return new StartError(
        'port_forbidden',
        `This user may not listen on port ${port}. Set ${portVariable} to a port of 1024 or above.`,
        error,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartError(
        'host_unavailable',
        `${host} is not an address of this machine, so port ${port} cannot be opened on it. Set the host to 127.0.0.1 or 0.0.0.0.`,
        error,
      );
    default:
      return new StartError(
        'listen_failed',
        `Port ${port} on ${host} could not be opened: ${error.message}.`,
        error,
      );
  }
}
