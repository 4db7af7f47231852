import { allowCallers, describeRoute, validate } from '@trunkline/http';
import { ownerKey } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import { type Database, dailyQuota, Quota, TtlTable } from '@trunkline/storage';
import { z } from 'zod';
import type { Skills, VoiceReferences } from '../api-types.ts';
import type { RouteDeps, VoiceApp } from '../components.ts';
import { voiceErrors } from '../errors.ts';
import { isAllowed } from '../skills/selection.ts';
import type { Skill } from '../skills/skill.ts';
import { findBackend } from '../speech/backends/registry.ts';
import { CloneError } from '../speech/clone/cloner.ts';
import type { User } from '../users/user.ts';

/** Name and description are shown to everyone; thirty seconds hold no more words than that. */
const uploadSchema = z.object({
  audio: z.file(),
  slug: z.string(),
  name: z.string().max(200).optional(),
  transcript: z.string().max(5000).optional(),
  description: z.string().max(2000).optional(),
});

type SkillDeps = Pick<RouteDeps, 'library' | 'selection' | 'users'>;

export function mountOwnSkill(app: VoiceApp, { selection }: Pick<SkillDeps, 'selection'>): void {
  app.get('/api/skills', describeRoute({ summary: 'The skills the caller may choose from' }), (context) => {
    const user = context.get('caller');
    const assigned = selection.assignedTo(user);
    return context.json<Skills>({
      active: selection.activeFor(user),
      locked: user.allowedSkills?.length === 1,
      skills: selection
        .choicesFor(user)
        .map(({ slug, name, description, viz }) => ({ slug, name, description, viz })),
      ...(assigned !== undefined && { assigned }),
    });
  });

  app.post(
    '/api/skills',
    describeRoute({ summary: 'Choose a skill', errors: [voiceErrors.skill_not_allowed] }),
    validate('json', z.object({ slug: z.string() })),
    (context) => {
      const user = context.get('caller');
      const { slug } = context.req.valid('json');
      if (selection.find(user, slug) === undefined)
        return context.json(unknownSkill(slug, selection.visibleTo(user)));
      if (user.role !== 'admin' && !isAllowed(user, slug))
        throw voiceErrors.skill_not_allowed({ slug, user: user.id });
      selection.choose(user.id, slug);
      return context.json({ active: slug });
    },
  );
}

export function mountAdminSkill(app: VoiceApp, { library, selection, users }: SkillDeps): void {
  app.post(
    '/api/admin/skills',
    describeRoute({ summary: 'Put a user on a skill', errors: [voiceErrors.admin_required] }),
    allowCallers<User>(({ role }) => role === 'admin', voiceErrors.admin_required),
    validate('json', z.object({ user_id: z.string().optional(), slug: z.string() })),
    (context) => {
      const { user_id: userId = '', slug } = context.req.valid('json');
      if (userId.trim() === '') return context.json({ error: 'user_id is required' });
      if (library.find(slug) === undefined) return context.json(unknownSkill(slug, library.all));
      const single = users.openCaller !== undefined;
      if (!single && users.find(userId) === undefined)
        return context.json({ error: `unknown user: ${userId}` });
      selection.assign(userId, slug);
      return context.json({ ok: true, user_id: userId, active: slug });
    },
  );
}

function unknownSkill(slug: string, skills: readonly Skill[]) {
  return { error: `unknown skill: ${slug}`, available: skills.map((skill) => skill.slug) };
}

type VoiceDeps = Pick<
  RouteDeps,
  'options' | 'sidecar' | 'cloner' | 'database' | 'counters' | 'library' | 'selection'
>;

/** Voices made from recordings. A user's own is theirs; what an admin makes is for everybody. */
export function mountVoice(app: VoiceApp, deps: VoiceDeps): void {
  const { options, sidecar, cloner, counters, library, selection, database } = deps;
  const isVisible = (user: User, voice: string) => {
    const skills = library.all.filter((skill) => skill.voice === voice);
    return skills.length === 0 || skills.some(({ slug }) => selection.find(user, slug) !== undefined);
  };
  const backend = options.ttsBackend;
  const uploaded = dailyQuota(options, new TtlTable(database, 'uploads'), 'upload');
  const recordings = new Recordings(database, (slug) => library.find(slug) !== undefined);
  const kept = new Quota({
    limitBytes: options.quotaMb * 2 ** 20,
    usedBy: (owner) => recordings.bytesOf(owner),
    advice: 'ask the operator to delete a voice of yours, or for more',
  });
  app.get(
    '/api/voice/references',
    describeRoute({ summary: 'Voices saved on the sidecar' }),
    async (context) => {
      if (findBackend(backend)?.synthesis?.clonesVoices !== true)
        return context.json<VoiceReferences>({ backend, references: [] });
      try {
        const references = await sidecar.listReferences(context.req.raw.signal);
        const visible = references.filter((voice) => isVisible(context.get('caller'), voice));
        return context.json<VoiceReferences>({ backend, references: visible });
      } catch (error) {
        return context.json<VoiceReferences>({ backend, references: [], error: errorMessage(error) });
      }
    },
  );

  app.post(
    '/api/voice/clone',
    describeRoute({
      summary: 'Clone a voice from a recording of 10 to 30 seconds',
      errors: [voiceErrors.quota_exceeded],
    }),
    validate('form', uploadSchema),
    async (context) => {
      const { audio, ...fields } = context.req.valid('form');
      const { id, role } = context.get('caller');
      const owner = ownerKey(context.get('principal'));
      const refusal = kept.refusal(owner, audio.size) ?? uploaded.refusal(owner, audio.size);
      if (refusal !== undefined) throw voiceErrors.quota_exceeded({ refusal });
      const file = { bytes: new Uint8Array(await audio.arrayBuffer()), name: audio.name };
      try {
        const { autoTranscribed, ...clone } = await cloner.clone({
          ...fields,
          audio: file,
          ...(role !== 'admin' && { owner: id }),
        });
        recordings.add(clone.slug, owner, audio.size);
        counters.clones += 1;
        return context.json({ ok: true, ...clone, auto_transcribed: autoTranscribed });
      } catch (error) {
        if (error instanceof CloneError) return context.json({ error: error.message });
        throw error;
      }
    },
  );
}

/** Who uploaded which voice, and its size. The sidecar keeps the sound itself, as long as its skill is there. */
class Recordings {
  readonly #database: Database;
  readonly #isThere: (slug: string) => boolean;

  constructor(database: Database, isThere: (slug: string) => boolean) {
    this.#database = database;
    this.#isThere = isThere;
  }

  add(slug: string, owner: string, bytes: number): void {
    this.#database
      .prepare(
        `INSERT INTO recordings (slug, owner, bytes) VALUES (?1, ?2, ?3)
         ON CONFLICT (slug) DO UPDATE SET owner = ?2, bytes = ?3`,
      )
      .run(slug, owner, bytes);
  }

  bytesOf(owner: string): number {
    return this.#database
      .prepare<{ slug: string; bytes: number }>('SELECT slug, bytes FROM recordings WHERE owner = ?')
      .all(owner)
      .filter(({ slug }) => this.#isThere(slug))
      .reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
