import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ownerKey, type Principal } from '@trunkline/identity';

/** A summary as it is sealed into an item. */
export interface Summary {
  text: string;
  /** Whether it may be drawn from text from outside. */
  outside: boolean;
}

const cipher = 'aes-256-gcm';
const [nonceBytes, tagBytes] = [12, 16];

/**
 * Summaries as clients keep them and hand them back. They are sealed, as OpenAI's are: so nobody takes the mark of outside
 * text off, and only their owner can use them.
 */
export class CompactionSeal {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  seal(summary: Summary, principal: Principal): string {
    const nonce = randomBytes(nonceBytes);
    const sealing = createCipheriv(cipher, this.#key, nonce).setAAD(Buffer.from(ownerKey(principal)));
    const sealed = Buffer.concat([sealing.update(JSON.stringify(summary)), sealing.final()]);
    return Buffer.concat([nonce, sealing.getAuthTag(), sealed]).toString('base64url');
  }

  /** Undefined where it was not sealed here, or for somebody else. */
  open(sealed: string, principal: Principal): Summary | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length <= nonceBytes + tagBytes) return undefined;
    const opening = createDecipheriv(cipher, this.#key, bytes.subarray(0, nonceBytes))
      .setAAD(Buffer.from(ownerKey(principal)))
      .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const text = opening.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8');
      return JSON.parse(text + opening.final('utf8')) as Summary;
    } catch {
      // The tag does not fit.
      return undefined;
    }
  }
}
