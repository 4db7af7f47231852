import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BusError, type Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { type Seal, SealKeyMissing } from '../control/seal.ts';
import { fieldsOf, text } from '../dispatch/request.ts';

const requestTopic = 'config.sealed.request';
const helloTopic = 'config.sealed.hello';
const answerMs = 3000;
const mostAttempts = 3;
const pauseMs = 500;

export interface SealExchangeSettings {
  bus: Bus;
  seal: Seal;
  logger: Logger;
}

/**
 * Lets switchboards on one bus open what others sealed. A key travels encrypted for the requester, so that neither the
 * journal nor the live feed shows it.
 */
export function createSealExchange({ bus, seal, logger }: SealExchangeSettings) {
  /** Answers requests for keys, and announces its own key so that others have it while this switchboard is away. */
  async function start(): Promise<void> {
    if (bus.status().engine === 'embedded') return;
    await bus.subscribe(requestTopic, (message) => answer(message), { plugin: 'cluster' });
    const meet = async ({ payload }: Message) => {
      const id = text(fieldsOf(payload).id);
      if (id === undefined || seal.has(id)) return;
      try {
        await fetch(id);
        // Who is new here does not have the key of this one either, and may need it when this one is gone.
        await announce();
      } catch (error) {
        logger.warn({ err: error, key: id }, 'failed to fetch the seal key of another switchboard');
      }
    };
    await bus.subscribe(helloTopic, meet, { plugin: 'cluster' });
    await announce();
  }

  async function announce(): Promise<void> {
    await bus.publish({ topic: helloTopic, payload: { id: seal.ownId } });
  }

  async function open(sealed: string, about: string): Promise<string> {
    const id = sealed.split('.')[0] ?? '';
    if (!seal.has(id) && bus.status().engine !== 'embedded') await fetch(id);
    return seal.open(sealed, about);
  }

  async function fetch(id: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { publicKey, privateKey } = generateKeyPairSync('x25519');
      try {
        const payload = { id, publicKey: exported(publicKey) };
        const { payload: given } = await bus.request(requestTopic, payload, { timeoutMs: answerMs });
        return await seal.add(id, unwrapped(fieldsOf(given), privateKey));
      } catch (error) {
        if (!(error instanceof BusError)) throw error;
        if (attempt === mostAttempts) throw new SealKeyMissing(id);
        await delay(pauseMs);
      }
    }
  }

  /** A switchboard without the key stays silent. */
  async function answer({ payload, reply, correlationId }: Message): Promise<void> {
    const fields = fieldsOf(payload);
    const [id, publicKey] = [text(fields.id), text(fields.publicKey)];
    const key = id === undefined ? undefined : seal.keyOf(id);
    if (key === undefined || publicKey === undefined || reply === undefined) return;
    await bus.publish({ topic: reply.topic, payload: wrapped(key, publicKey), correlationId });
  }

  return { start, open };
}

export type SealExchange = ReturnType<typeof createSealExchange>;

const cipher = 'aes-256-gcm';

function wrapped(key: string, theirs: string) {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const iv = randomBytes(12);
  const encryption = createCipheriv(cipher, sharedKey(privateKey, theirs), iv);
  const data = Buffer.concat([encryption.update(key, 'utf8'), encryption.final()]).toString('base64url');
  const tag = encryption.getAuthTag().toString('base64url');
  return { publicKey: exported(publicKey), iv: iv.toString('base64url'), tag, data };
}

function unwrapped(fields: Record<string, unknown>, privateKey: KeyObject): string {
  const bytes = (name: string) => Buffer.from(text(fields[name]) ?? '', 'base64url');
  const shared = sharedKey(privateKey, text(fields.publicKey) ?? '');
  const decryption = createDecipheriv(cipher, shared, bytes('iv')).setAuthTag(bytes('tag'));
  return Buffer.concat([decryption.update(bytes('data')), decryption.final()]).toString('utf8');
}

function sharedKey(privateKey: KeyObject, theirs: string): Buffer {
  const publicKey = createPublicKey({ key: Buffer.from(theirs, 'base64url'), format: 'der', type: 'spki' });
  const secret = diffieHellman({ privateKey, publicKey });
  return Buffer.from(hkdfSync('sha256', secret, '', 'trunkline seal key', 32));
}

function exported(key: KeyObject): string {
  return key.export({ format: 'der', type: 'spki' }).toString('base64url');
}
