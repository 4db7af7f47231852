import { BlockList, isIP } from 'node:net';
import { BoundedMap, lazy } from '@trunkline/std';

/** Which program or provider answers at an endpoint. */
export type EndpointKind =
  | 'ollama'
  | 'vllm'
  | 'llamacpp'
  | 'lmstudio'
  | 'litellm'
  | 'openrouter'
  | 'openai'
  | 'gemini'
  | 'mistral'
  | 'anthropic'
  | 'bedrock'
  | 'azure'
  | 'other';

const hosts: readonly (readonly [host: RegExp, kind: EndpointKind])[] = [
  [/(^|\.)openai\.azure\.com$|(^|\.)services\.ai\.azure\.com$/, 'azure'],
  [/(^|\.)openai\.com$/, 'openai'],
  [/(^|\.)openrouter\.ai$/, 'openrouter'],
  [/^generativelanguage\.googleapis\.com$|(^|-)aiplatform\.googleapis\.com$/, 'gemini'],
  [/(^|\.)mistral\.ai$/, 'mistral'],
  [/(^|\.)anthropic\.com$/, 'anthropic'],
  [/^bedrock-(runtime|mantle)\..*\.(amazonaws\.com|api\.aws)$/, 'bedrock'],
  [/(^|\.)ollama\.com$/, 'ollama'],
];

/** Ports that these programs listen on unless told otherwise; they count only where no answer says more. */
const ports: Record<string, EndpointKind> = {
  '11434': 'ollama',
  '8000': 'vllm',
  '8080': 'llamacpp',
  '1234': 'lmstudio',
  '4000': 'litellm',
};

const owners: Record<string, EndpointKind> = {
  vllm: 'vllm',
  llamacpp: 'llamacpp',
  library: 'ollama',
  organization_owner: 'lmstudio',
};

/** Providers that programs nearby name as the owner of models that they only pass calls on to. */
const provider =
  /^(openai|anthropic|google|gemini|vertex|mistral|azure|bedrock|aws|amazon|cohere|deepseek|x-?ai|groq|openrouter|together|fireworks|perplexity)/i;

const seen = new BoundedMap<string, EndpointKind>(200);

/** Endpoints whose list names models of a provider. */
const passingOn = new BoundedMap<string, true>(200);

/** The kind of an endpoint: as its answers showed, else as its address suggests. */
export function endpointKind(baseUrl: string): EndpointKind {
  return seen.get(baseUrl) ?? addressOf(baseUrl).kind;
}

/** The kind that an answer of the endpoint has shown, which a port does not; nothing where its list names models of a provider. */
export function shownKind(baseUrl: string): EndpointKind | undefined {
  return passingOn.has(baseUrl) ? undefined : seen.get(baseUrl);
}

interface Address {
  kind: EndpointKind;
  isLocal: boolean;
}

/** Asked several times in each step of a turn, for the same few addresses. */
const addresses = new BoundedMap<string, Address>(200);

function addressOf(baseUrl: string): Address {
  const known = addresses.get(baseUrl);
  if (known !== undefined) return known;
  const { hostname = '', port = '' } = URL.parse(baseUrl) ?? {};
  const isLocal = isLocalHost(hostname.replace(/^\[|\]$/g, ''));
  const byHost = hosts.find(([host]) => host.test(hostname))?.[1];
  const address: Address = { kind: byHost ?? (isLocal ? ports[port] : undefined) ?? 'other', isLocal };
  addresses.set(baseUrl, address);
  return address;
}

/** Takes the kind from the headers of an answer and from the list of models, where they show it. */
export function noteEndpointKind(baseUrl: string, headers: Headers, listing: unknown): void {
  const kind = kindOfHeaders(headers) ?? kindOfListing(listing);
  if (kind !== undefined) seen.set(baseUrl, kind);
  if (ownersIn(listing).some((owner) => provider.test(owner))) passingOn.set(baseUrl, true);
}

function kindOfHeaders(headers: Headers): EndpointKind | undefined {
  if (headers.get('server')?.toLowerCase().includes('llama.cpp')) return 'llamacpp';
  return headers.has('x-litellm-version') || headers.has('x-litellm-call-id') ? 'litellm' : undefined;
}

function kindOfListing(listing: unknown): EndpointKind | undefined {
  return owners[ownersIn(listing)[0] ?? ''];
}

function ownersIn(listing: unknown): string[] {
  const models = fieldOf(listing, 'data');
  return Array.isArray(models) ? models.map((model) => String(fieldOf(model, 'owned_by') ?? '')) : [];
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

const localBlocks = lazy(() => {
  const blocks = new BlockList();
  for (const [net, prefix] of [
    ['127.0.0.0', 8],
    ['10.0.0.0', 8],
    ['172.16.0.0', 12],
    ['192.168.0.0', 16],
    ['100.64.0.0', 10],
    ['169.254.0.0', 16],
  ] as const)
    blocks.addSubnet(net, prefix, 'ipv4');
  blocks.addAddress('::1', 'ipv6');
  blocks.addSubnet('fc00::', 7, 'ipv6');
  blocks.addSubnet('fe80::', 10, 'ipv6');
  return blocks;
});

/** Whether an address is of this machine or of its own network: a model there costs nothing per token. */
export function isLocalAddress(baseUrl: string): boolean {
  return addressOf(baseUrl).isLocal;
}

function isLocalHost(host: string): boolean {
  const version = isIP(host);
  if (version !== 0) return localBlocks().check(host, version === 4 ? 'ipv4' : 'ipv6');
  return host !== '' && (!host.includes('.') || /\.(local|lan|internal|home\.arpa|localhost)$/.test(host));
}
