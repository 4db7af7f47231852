import type { RunningServer } from '@trunkline/http';
import type { Logger } from '../protocol/model.ts';
import type { RunningGrpcServer } from './grpc-server.ts';

/** The settings of a service for gRPC, and the names of their variables. */
export interface GrpcSettings {
  host: string;
  /** Undefined: gRPC is off. 0 takes any free port. */
  grpcPort: number | undefined;
  grpcCertFile: string | undefined;
  grpcKeyFile: string | undefined;
  /** As much as the service takes in a message over HTTP; 1 MiB if not given. */
  grpcMessageBytes?: number;
}

/** Starts gRPC in front of a service's HTTP server where its settings say so. The library is loaded only then. */
export async function startGrpc(
  { host, grpcPort: port, grpcCertFile: certFile, grpcKeyFile: keyFile, grpcMessageBytes }: GrpcSettings,
  prefix: string,
  { accept }: Pick<RunningServer, 'accept'>,
  logger: Logger,
): Promise<RunningGrpcServer | undefined> {
  if (port === undefined) return undefined;
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new Error(
      `gRPC needs a certificate and its key: set both ${prefix}_GRPC_CERT and ${prefix}_GRPC_KEY.`,
    );
  const tls = certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined;
  const { startGrpcServer } = await import('./grpc-server.ts');
  return startGrpcServer({ host, port, prefix, tls, accept, messageBytes: grpcMessageBytes, logger });
}

/** The server of a service with gRPC in front of it, where its settings say so; both stop together. */
export async function withGrpc(
  settings: GrpcSettings,
  prefix: string,
  server: RunningServer,
  logger: Logger,
): Promise<RunningServer & { grpcPort?: number }> {
  try {
    const grpc = await startGrpc(settings, prefix, server, logger);
    if (grpc === undefined) return server;
    const stop = async (graceMs?: number) => {
      await grpc.stop();
      await server.stop(graceMs);
    };
    return { ...server, grpcPort: grpc.port, stop };
  } catch (error) {
    await server.stop(0);
    throw error;
  }
}
