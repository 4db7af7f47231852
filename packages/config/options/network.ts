// Settings of the connections beside HTTP: NATS between switchboards, and A2A over gRPC.
import { file, integer, list, text } from './makers.ts';
import { group } from './option.ts';

export const natsOptions = group('Several switchboards (NATS)', {
  natsUrl: list({
    env: 'NATS_URL',
    doc: 'NATS servers with JetStream. Set this to share one bus between several switchboards.',
    defaultDoc: 'the embedded bus',
    check: isNatsServer,
    expected: 'a server such as nats://host:4222',
  }),
  natsUser: text({ env: 'NATS_USER', doc: 'User name at the NATS servers.' }),
  natsPassword: text({ env: 'NATS_PASSWORD', secret: true, doc: 'Password of that user.' }),
  natsToken: text({ env: 'NATS_TOKEN', secret: true, doc: 'Token to use instead of user and password.' }),
  natsCreds: file({
    env: 'NATS_CREDS',
    mustExist: true,
    doc: 'Credentials file to use instead of user and password.',
  }),
  natsTlsCa: file({
    env: 'NATS_TLS_CA',
    mustExist: true,
    doc: "Certificate authority (PEM) that signed the servers' certificates.",
  }),
  natsTlsCert: file({ env: 'NATS_TLS_CERT', mustExist: true, doc: 'Client certificate (PEM).' }),
  natsTlsKey: file({
    env: 'NATS_TLS_KEY',
    mustExist: true,
    doc: 'Private key of the client certificate (PEM).',
  }),
  natsReplicas: integer({
    env: 'NATS_REPLICAS',
    min: 1,
    max: 5,
    doc: 'Copies of what the bus stores on NATS. What exists is raised to this number and never lowered.',
    defaultDoc: '3 on a cluster of three servers or more, else 1',
  }),
  natsPublishTimeoutMs: integer({
    env: 'NATS_PUBLISH_TIMEOUT_MS',
    default: 30_000,
    min: 100,
    doc: 'Milliseconds a message waits while NATS is away or elects a leader. Then its sender gets status 503.',
  }),
});

function isNatsServer(server: string): boolean {
  const address = server.includes('://') ? server : `nats://${server}`;
  return (
    /^(nats|tls|ws|wss):\/\//i.test(address) && URL.canParse(address) && new URL(address).hostname !== ''
  );
}

/** A2A over gRPC, which each service has at a port of its own. */
export function grpcOptions(prefix: string) {
  return group('A2A over gRPC', {
    grpcPort: integer({
      env: `${prefix}_GRPC_PORT`,
      min: 0,
      max: 65_535,
      doc: 'Port for A2A over gRPC, beside JSON-RPC and REST.',
      defaultDoc: 'none: gRPC is off',
    }),
    grpcPublicAddress: text({
      env: `${prefix}_GRPC_PUBLIC_ADDRESS`,
      doc: 'Address of gRPC in the card, where others reach it through a proxy: host:port, or a URL as A2A 0.3 writes it.',
      defaultDoc: 'the host of the public address, and the port',
      check: (given) =>
        /^(https?:\/\/)?([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?\/?$/i.test(given) &&
        /:\/\/|:\d+$/.test(given) &&
        URL.canParse(given.includes('://') ? given : `http://${given}`),
      expected: 'host:port, or an address that starts with http:// or https://',
    }),
    grpcCertFile: file({
      env: `${prefix}_GRPC_CERT`,
      doc: 'Certificate of the gRPC port, in PEM form with its chain.',
      defaultDoc: 'none: the port is not encrypted',
    }),
    grpcKeyFile: file({ env: `${prefix}_GRPC_KEY`, doc: 'Private key of that certificate, in PEM form.' }),
  });
}
