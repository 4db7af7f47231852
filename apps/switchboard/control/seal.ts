import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';

const keysFile = z.object({ own: z.string(), keys: z.record(z.string(), z.string()) });
type KeysFile = z.output<typeof keysFile>;

const cipher = 'aes-256-gcm';
const ivLength = 12;
const tagLength = 16;

/** Another switchboard sealed the text, and its key is not here. */
export class SealKeyMissing extends Error {
  readonly id: string;

  constructor(id: string) {
    super(`The text was sealed by another switchboard, whose key ${id} could not be fetched: is it running?`);
    this.name = 'SealKeyMissing';
    this.id = id;
  }
}

/**
 * Encrypts what may hold credentials before it goes into the journal. Every switchboard has a key of its own in
 * `seal.json`, and those of others that it has met.
 */
export class Seal {
  readonly #path: string;
  readonly #file: KeysFile;

  private constructor(path: string, file: KeysFile) {
    this.#path = path;
    this.#file = file;
  }

  static async open(home: string): Promise<Seal> {
    const path = join(home, 'seal.json');
    const known = keysFile.safeParse(await readJsonFile(path));
    if (known.success && known.data.own in known.data.keys) return new Seal(path, known.data);
    const own = randomBytes(8).toString('hex');
    const seal = new Seal(path, { own, keys: { [own]: randomBytes(32).toString('base64url') } });
    await seal.#write();
    return seal;
  }

  get ownId(): string {
    return this.#file.own;
  }

  /** Opens only under the same `about`. */
  seal(text: string, about: string): string {
    const iv = randomBytes(ivLength);
    const encryption = createCipheriv(cipher, this.#key(this.ownId), iv).setAAD(Buffer.from(about));
    const data = Buffer.concat([encryption.update(text, 'utf8'), encryption.final()]);
    return `${this.ownId}.${Buffer.concat([iv, encryption.getAuthTag(), data]).toString('base64url')}`;
  }

  open(sealed: string, about: string): string {
    const [id = '', content = ''] = sealed.split('.');
    const bytes = Buffer.from(content, 'base64url');
    const [iv, tag] = [bytes.subarray(0, ivLength), bytes.subarray(ivLength, ivLength + tagLength)];
    const decryption = createDecipheriv(cipher, this.#key(id), iv).setAAD(Buffer.from(about)).setAuthTag(tag);
    const text = Buffer.concat([decryption.update(bytes.subarray(ivLength + tagLength)), decryption.final()]);
    return text.toString('utf8');
  }

  has(id: string): boolean {
    return Object.hasOwn(this.#file.keys, id);
  }

  /** For `SealExchange` only. */
  keyOf(id: string): string | undefined {
    return this.has(id) ? this.#file.keys[id] : undefined;
  }

  async add(id: string, key: string): Promise<void> {
    this.#file.keys[id] = key;
    await this.#write();
  }

  #key(id: string): Buffer {
    const key = this.keyOf(id);
    if (key === undefined) throw new SealKeyMissing(id);
    return Buffer.from(key, 'base64url');
  }

  async #write(): Promise<void> {
    await writeFileAtomic(this.#path, JSON.stringify(this.#file), { mode: 0o600 });
  }
}
