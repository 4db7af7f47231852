// Compared without case, dashes and underscores: `X-Api-Key`, `apiKey` and `api_key` are one name.
const ENDINGS = [
  'authorization',
  'apikey',
  'apikeys',
  'token',
  'secret',
  'secrets',
  'password',
  'passwords',
  'passwd',
  'passphrase',
  'cookie',
  'cookies',
  'credential',
  'credentials',
  'privatekey',
  'secretkey',
  'accesskey',
  'signingkey',
];

/** Tells whether a field of this name holds a secret: `bot_token` does, `max_tokens` and `apiKeyEnv` do not. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return ENDINGS.some((ending) => plain.endsWith(ending));
}

/** Lists of tokens are secrets when they hold text; as numbers they are a model's usage. */
export function isListOfTokens(name: string, value: unknown): boolean {
  if (!/tokens$/i.test(name)) return false;
  return (
    typeof value === 'string' || (Array.isArray(value) && value.some((item) => typeof item === 'string'))
  );
}
