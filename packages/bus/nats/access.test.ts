import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nkeys } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { createNatsBus, type NatsBusOptions } from '@trunkline/bus';
import {
  freePort,
  type NatsServer,
  natsMissing,
  startNatsServer,
  type TemporaryDirectory,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listen } from '../suites/world.suite.ts';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe.skipIf(natsMissing)(`access to NATS${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let directory: TemporaryDirectory;
  let server: NatsServer | undefined;
  beforeEach(() => {
    directory = temporaryDirectory();
  });
  afterEach(async () => {
    await server?.stop();
    server = undefined;
    directory.remove();
  });

  async function start(configuration: string): Promise<NatsServer> {
    server = await startNatsServer({ configuration });
    return server;
  }

  /** Opens a bus and brings one journalled message through it. */
  async function works(options: NatsBusOptions): Promise<void> {
    const bus = await createNatsBus({ retainBytes: 1_000_000, ...options });
    const heard = await listen(bus, 'message.inbound.#', { durable: 'reader' });
    await bus.publish({ topic: 'message.inbound.a', payload: 1 });
    await heard.count(1);
    await bus.stop();
  }

  async function refusal(options: NatsBusOptions): Promise<Error & { code?: string }> {
    try {
      await works({ connectTimeoutMs: 2000, ...options });
    } catch (error) {
      return error as Error;
    }
    throw new Error('It was let in');
  }

  it('by user and password, in the settings or in the address; a wrong one is refused and not repeated', async () => {
    const { url, port } = await start('authorization { user: ann, password: "se/cret" }');
    await works({ servers: url, user: 'ann', password: 'se/cret' });
    await works({ servers: `nats://ann:se%2Fcret@127.0.0.1:${port}` });
    const wrong = await refusal({ servers: `nats://ann:wrong-secret@127.0.0.1:${port}` });
    expect(wrong).toMatchObject({
      code: 'connection_refused',
      message: expect.stringContaining('NATS_PASSWORD'),
    });
    expect(wrong.message).not.toContain('wrong-secret');
    expect(await refusal({ servers: url })).toMatchObject({ code: 'connection_refused' });
  });

  it('by token', async () => {
    const { url } = await start('authorization { token: "tick-et" }');
    await works({ servers: url, token: 'tick-et' });
    expect(await refusal({ servers: url, token: 'other' })).toMatchObject({ code: 'connection_refused' });
  });

  it('by a credentials file', async () => {
    const { configuration, credentials } = decentralised();
    const { url } = await start(configuration);
    const file = join(directory.path, 'bus.creds');
    writeFileSync(file, credentials);
    await works({ servers: url, credentialsFile: file });
    expect(await refusal({ servers: url })).toMatchObject({ code: 'connection_refused' });
    expect(await refusal({ servers: url, credentialsFile: join(directory.path, 'none') })).toMatchObject({
      code: 'options_refused',
      message: expect.stringContaining('NATS_CREDS'),
    });
  });

  it.skipIf(!hasOpenssl)('by TLS with certificates on both sides (needs openssl)', async () => {
    const file = certificates(directory.path);
    const tls = `cert_file: "${file('server.crt')}", key_file: "${file('server.key')}", ca_file: "${file('ca.crt')}", verify: true`;
    const { port } = await start(`tls { ${tls} }`);
    const servers = `tls://localhost:${port}`;
    const both = { caFile: file('ca.crt'), certificateFile: file('client.crt'), keyFile: file('client.key') };
    await works({ servers, tls: both });
    expect(await refusal({ servers })).toMatchObject({ code: 'connection_failed' });
  });

  it('not by a leaf node, which passes messages on and JetStream not: the words say so', async () => {
    const port = await freePort();
    const hub = await start(`server_name: hub\nleafnodes { listen: "127.0.0.1:${port}" }`);
    const remotes = `leafnodes { remotes: [{ url: "nats-leaf://127.0.0.1:${port}" }] }`;
    const leaf = await startNatsServer({
      configuration: `server_name: leaf\njetstream: disabled\n${remotes}`,
    });
    const [near, far] = [await connect({ servers: hub.url }), await connect({ servers: leaf.url })];
    try {
      let isLinked = false;
      near.subscribe('link', {
        callback: () => {
          isLinked = true;
        },
      });
      await waitFor(() => {
        far.publish('link');
        return isLinked;
      });
      expect(await refusal({ servers: leaf.url })).toMatchObject({
        code: 'engine_failed',
        message: expect.stringContaining('a leaf node does not pass it on'),
      });
      await works({ servers: hub.url });
    } finally {
      await Promise.all([near.close(), far.close()]);
      await leaf.stop();
    }
  });

  it('fails with words when nobody listens, the address is none, or JetStream is off', async () => {
    const port = await freePort();
    expect(await refusal({ servers: `127.0.0.1:${port}` })).toMatchObject({
      code: 'connection_failed',
      message: expect.stringMatching(new RegExp(`127.0.0.1:${port} cannot be reached.*NATS_URL`)),
    });
    expect(await refusal({ servers: 'nats://' })).toMatchObject({ code: 'options_refused' });
    expect(await refusal({ servers: 'nats://x', prefix: 'a.b' })).toMatchObject({ code: 'options_refused' });
    expect(await refusal({ servers: 'nats://x', maxPending: 0 })).toMatchObject({ code: 'options_refused' });
    const { url } = await start('jetstream: disabled');
    expect(await refusal({ servers: url })).toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining('JetStream'),
    });
  });
});

/** An operator, an account that may use JetStream, and a user, as a server in operator mode wants them. */
function decentralised(): { configuration: string; credentials: string } {
  const operator = nkeys.createOperator();
  const account = nkeys.createAccount();
  const user = nkeys.createUser();
  const unlimited = {
    subs: -1,
    conn: -1,
    leaf: -1,
    imports: -1,
    exports: -1,
    data: -1,
    payload: -1,
    wildcards: true,
  };
  const jetstream = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const operatorToken = signed(operator, operator, { type: 'operator', version: 2 });
  const limits = { ...unlimited, ...jetstream };
  const accountToken = signed(operator, account, { type: 'account', version: 2, limits });
  const system = nkeys.createAccount();
  const systemToken = signed(operator, system, { type: 'account', version: 2, limits: unlimited });
  const accounts = `${account.getPublicKey()}: ${accountToken}, ${system.getPublicKey()}: ${systemToken}`;
  const userToken = signed(account, user, { type: 'user', version: 2, subs: -1, data: -1, payload: -1 });
  const seed = new TextDecoder().decode(user.getSeed());
  return {
    configuration: `operator: ${operatorToken}\nsystem_account: ${system.getPublicKey()}\nresolver: MEMORY\nresolver_preload: { ${accounts} }`,
    credentials: `-----BEGIN NATS USER JWT-----\n${userToken}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
  };
}

type KeyPair = ReturnType<typeof nkeys.createUser>;

function signed(issuer: KeyPair, subject: KeyPair, nats: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = {
    jti: 'test',
    iat: 1,
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name: 'test',
    nats,
  };
  const text = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode(claims)}`;
  return `${text}.${Buffer.from(issuer.sign(new TextEncoder().encode(text))).toString('base64url')}`;
}

/** An authority of its own with a certificate for the server and one for the client. */
function certificates(directory: string): (name: string) => string {
  const file = (name: string) => join(directory, name);
  const openssl = (...parameters: string[]) => execFileSync('openssl', parameters, { stdio: 'ignore' });
  const key = (name: string) => [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    file(name),
  ];
  openssl(
    'req',
    '-x509',
    ...key('ca.key'),
    '-out',
    file('ca.crt'),
    '-subj',
    '/CN=test authority',
    '-days',
    '2',
  );
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  for (const who of ['server', 'client']) {
    openssl('req', ...key(`${who}.key`), '-out', file(`${who}.csr`), '-subj', `/CN=${who}`);
    const authority = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      file(`${who}.csr`),
      ...authority,
      '-out',
      file(`${who}.crt`),
      '-days',
      '2',
      '-extfile',
      file('names'),
    );
  }
  return file;
}
