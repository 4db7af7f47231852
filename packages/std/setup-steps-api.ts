// What single services answer below /operator/setup, for the steps of the page at /setup that are theirs.

/** `GET /operator/setup/speech` of the voice service. */
export interface SpeechSetup {
  /** The letters that INPROC_LANG takes, and their names. */
  languages: { id: string; title: string }[];
  /** What INPROC_VOICE takes; `language` is one of the letters. */
  voices: { id: string; title: string; language: string }[];
  voice: string;
  language: string;
  /** TTS_BACKEND; the voices are those of `inprocess`. */
  backend: string;
}

/** `POST /operator/setup/speech/hear` of the voice service takes a form with the WAV file `audio`. */
export interface HeardSpeech {
  /** Empty where no speech was found. */
  text: string;
}

/** `POST /operator/setup/search` of the research service takes `{ query, url?, basicAuth?, braveApiKey?, tavilyApiKey? }`; without an address or a key the configured sources are asked. */
export interface SearchTrial {
  results: { title: string; url: string; snippet: string; source: string }[];
  /** Titles of the sources that answered. */
  answered: string[];
  /** In words, what went wrong with the others. */
  troubles: string[];
}

/** A surface that people can set up. */
export interface ConnectorView {
  name: string;
  /** The product: "Discord". */
  title: string;
  /** What to do at the product first. */
  guide: string;
  state: 'off' | 'waiting' | 'running' | 'failed';
  /** What the surface says about that state. */
  words: string | null;
  /** The outbound topic of a test message; null where none can be sent. `{place}` in it is what the person names: see `testTopicAt`. */
  testTopic: string | null;
  /** What the person names; null where a test message needs no place. */
  testPlace: { label: string; example: string } | null;
  fields: {
    variable: string;
    doc: string;
    secret: boolean;
    /** Has a default or is needed by few. */
    isOptional: boolean;
    /** As it counts now; of a secret only that it is set. */
    value: string | null;
    isSet: boolean;
  }[];
}

/** `GET /operator/setup/connectors` of the switchboard. */
export interface ConnectorsView {
  connectors: ConnectorView[];
}

/** `POST /operator/setup/connectors/:name/check` takes values by variable; what is left out counts as it is set. */
export interface ConnectorCheck {
  ok: boolean;
  words: string;
}

/** Of a test message; some products show the title. */
export const testMessage = {
  title: 'Test message from Trunkline',
  content: 'Hello from Trunkline. This is a test message.',
};

/** The topic of a test message to a place such as `octo/hello-world#12` or `ENG-12`. */
export function testTopicAt(topic: string, place: string): string {
  const segments = place.split(/[/#\s]+/).filter(Boolean);
  return topic.replace('{place}', () => segments.map(escaped).join('.'));
}

/** As the bus escapes a segment. */
function escaped(segment: string): string {
  return encodeURIComponent(segment).replace(/[.*]/g, (character) => (character === '.' ? '%2E' : '%2A'));
}
