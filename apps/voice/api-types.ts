// Bodies of the routes that the page reads: the server answers with them, the page imports them as types.

/** A look of the orb as skills and users describe it: every field may be missing or unknown. */
export interface Viz {
  variant?: unknown;
  palette?: unknown;
  params?: unknown;
}

/** `GET /api/whoami` */
export interface Account {
  id: string;
  display_name: string;
  role: 'user' | 'admin';
  allowed_skills: readonly string[] | null;
  pinned_viz: Viz | null;
  auth_source: string;
}

export interface SkillChoice {
  slug: string;
  name: string;
  description: string;
  viz: Viz;
}

/** `GET /api/skills` */
export interface Skills {
  active: string;
  /** There is only one to choose from. */
  locked: boolean;
  skills: readonly SkillChoice[];
  /** The skill that an admin chose for the caller. */
  assigned?: string;
}

/** `GET /api/voice/references` */
export interface VoiceReferences {
  backend: string;
  references: readonly string[];
  error?: string;
}

/** What the page reads of `GET /healthz`. */
export interface SpeechHealth {
  speech: {
    voice?: { voice: string; chosen_by: 'setting' | 'machine'; reason: string };
    /** The only language that is understood when it is spoken; left out where callers may speak any. */
    stt_language?: string;
    /** Codes of languages that a call has its own phrases in. */
    languages: readonly string[];
  };
}
