import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { stringify } from 'yaml';
import type { SkillLibrary } from '../../skills/library.ts';
import { slugPattern, titleOf } from '../../skills/skill.ts';
import { decodeSound } from '../audio/decode.ts';
import { lengthOf } from '../audio/samples.ts';
import type { SpeechFile } from '../backends/definition.ts';
import { findBackend } from '../backends/registry.ts';
import type { Sidecar } from '../sidecar/client.ts';
import type { Transcriber } from '../speech.ts';

export interface CloneUpload {
  audio: SpeechFile;
  slug: string;
  name?: string | undefined;
  transcript?: string | undefined;
  description?: string | undefined;
  /** The user whom it is for; left out, everybody. */
  owner?: string;
}

export interface Clone {
  slug: string;
  name: string;
  transcript: string;
  autoTranscribed: boolean;
}

export interface ClonerOptions {
  backend: string;
  sidecar: Sidecar;
  transcriber: Transcriber;
  library: SkillLibrary;
  configDirectory: string;
  logger: Logger;
}

const shortest = 10;
const longest = 30;

/** Saves an uploaded voice, and a skill that speaks with it. */
export class VoiceCloner {
  readonly #options: ClonerOptions;
  readonly #underWay = new Set<string>();

  constructor(options: ClonerOptions) {
    this.#options = options;
  }

  /** Checks the upload, then saves it. A failure half way leaves nothing behind. */
  async clone(upload: CloneUpload): Promise<Clone> {
    this.#checkSlug(upload.slug);
    this.#underWay.add(upload.slug);
    try {
      await checkAudio(upload.audio.bytes);
      const transcript = await this.#transcriptOf(upload);
      const name = upload.name?.trim() || titleOf(upload.slug);
      await this.#save(upload, { name, transcript: transcript.text });
      return { slug: upload.slug, name, transcript: transcript.text, autoTranscribed: transcript.auto };
    } finally {
      this.#underWay.delete(upload.slug);
    }
  }

  #checkSlug(slug: string): void {
    const { backend, library, configDirectory } = this.#options;
    if (findBackend(backend)?.synthesis?.clonesVoices !== true)
      throw new CloneError(`cloning needs the sidecar backend: set TTS_BACKEND=sidecar (it is ${backend})`);
    if (!slugPattern.test(slug))
      throw new CloneError('slug must be lowercase letters/numbers/hyphens (2-64 chars)');
    const isTaken = library.find(slug) !== undefined || hasSkillFile(configDirectory, slug);
    if (isTaken || this.#underWay.has(slug)) throw new CloneError(`slug '${slug}' already exists`);
  }

  async #transcriptOf({ transcript, audio }: CloneUpload): Promise<{ text: string; auto: boolean }> {
    const given = transcript?.trim() ?? '';
    if (given !== '') return { text: given, auto: false };
    const text = await this.#options.transcriber.transcribe(audio).catch((error: unknown) => {
      throw new CloneError(`auto-transcribe failed: ${errorMessage(error)}`, { cause: error });
    });
    if (text.trim() === '')
      throw new CloneError('auto-transcribe produced empty text — provide a transcript manually');
    return { text: text.trim(), auto: true };
  }

  async #save(
    upload: CloneUpload,
    { name, transcript }: { name: string; transcript: string },
  ): Promise<void> {
    const { slug, description = '', owner } = upload;
    const { configDirectory, library } = this.#options;
    await this.#addReference(upload, transcript);
    try {
      await writeClonedSkill(configDirectory, {
        slug,
        name,
        description: description.trim(),
        ...(owner !== undefined && { owner }),
      });
      await library.reload();
    } catch (error) {
      await removeClonedSkill(configDirectory, slug);
      await this.#dropReference(slug);
      throw new CloneError(`the skill cannot be saved: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** Neither replaces nor removes an existing voice of that name. */
  async #addReference({ slug, audio }: CloneUpload, text: string): Promise<void> {
    const { sidecar, logger } = this.#options;
    let isNew = false;
    try {
      isNew = !(await sidecar.listReferences()).includes(slug);
      if (!isNew) throw new Error(`the sidecar has a reference ${slug} already`);
      await sidecar.addReference({ id: slug, audio: audio.bytes, text });
    } catch (error) {
      logger.warn({ err: error, slug }, 'sidecar rejected voice reference');
      if (isNew) await this.#dropReference(slug);
      throw new CloneError('sidecar rejected the reference', { cause: error });
    }
  }

  async #dropReference(slug: string): Promise<void> {
    try {
      const { sidecar } = this.#options;
      if ((await sidecar.listReferences()).includes(slug)) await sidecar.deleteReference(slug);
    } catch (error) {
      this.#options.logger.error(
        { err: error, slug },
        'failed to delete voice reference; delete it on the sidecar',
      );
    }
  }
}

async function checkAudio(bytes: Uint8Array): Promise<void> {
  if (bytes.length === 0) throw new CloneError('empty audio upload');
  const sound = await decodeSound(bytes, longest + 1).catch((error: unknown) => {
    throw new CloneError(errorMessage(error), { cause: error });
  });
  const seconds = lengthOf(sound);
  const told = seconds > longest ? `more than ${longest}` : seconds.toFixed(1);
  if (seconds < shortest || seconds > longest)
    throw new CloneError(`audio must be ${shortest}-${longest} s long, this is ${told} s`);
}

/** A refused or failed clone; the message is for the uploader. */
export class CloneError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CloneError';
  }
}

interface ClonedSkill {
  slug: string;
  name: string;
  description: string;
  owner?: string;
}

async function writeClonedSkill(configDirectory: string, skill: ClonedSkill): Promise<void> {
  const { slug } = skill;
  const file = {
    ...skill,
    system_prompt_file: 'SOUL.md',
    tts_backend: 'sidecar',
    voice: slug,
  };
  await writeFileAtomic(pathOf(configDirectory, slug), stringify(file));
}

/** Finds broken files too, and those added since the skills were loaded. */
function hasSkillFile(configDirectory: string, slug: string): boolean {
  return ['yaml', 'yml'].some((ending) => existsSync(join(configDirectory, 'skills', `${slug}.${ending}`)));
}

function removeClonedSkill(configDirectory: string, slug: string): Promise<void> {
  return rm(pathOf(configDirectory, slug), { force: true });
}

function pathOf(configDirectory: string, slug: string): string {
  return join(configDirectory, 'skills', `${slug}.yaml`);
}
