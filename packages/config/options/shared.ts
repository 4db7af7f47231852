import { isIP } from 'node:net';
import { keyVariables } from '@trunkline/secrets';
import { defaultHome } from '../secrets/references.ts';
import { choice, directory, file, integer, isAddressRange, list, text, toggle, url } from './makers.ts';
import { group } from './option.ts';

/** The names of `LOG_LEVEL`. */
export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;

/** The model that serves where a service has no setting of its own. */
export const modelOptions = group('Model', {
  llmGatewayUrl: url({
    env: 'LLM_GATEWAY_URL',
    doc: 'Base address of an OpenAI-compatible endpoint, as a rule one that ends in /v1.',
    defaultDoc: 'the offline demo model',
  }),
  llmApiKey: text({ env: 'LLM_API_KEY', secret: true, doc: 'Key of the endpoint.' }),
  llmModel: text({ env: 'LLM_MODEL', doc: 'Name of the model.' }),
  llmFastModel: text({
    env: 'LLM_FAST_MODEL',
    doc: 'Model for short, frequent calls.',
    defaultDoc: 'the value of LLM_MODEL',
  }),
  llmJudgeModel: text({
    env: 'LLM_JUDGE_MODEL',
    doc: 'Model that checks what others wrote, such as the citations of a report.',
    defaultDoc: 'the judge role of models.yaml in TRUNKLINE_HOME, else the value of LLM_MODEL',
  }),
  llmVisionModel: text({
    env: 'LLM_VISION_MODEL',
    doc: 'Model that is asked in place of one that sees no images, when a message holds one.',
    defaultDoc: 'the vision role of models.yaml',
  }),
  llmContextTokens: integer({
    env: 'LLM_CONTEXT_TOKENS',
    doc: 'Tokens that LLM_MODEL takes, prompt and answer together.',
    min: 256,
    defaultDoc: 'what models.yaml or the endpoint says',
  }),
  llmTools: choice({
    env: 'LLM_TOOLS',
    doc: 'How tools are offered to LLM_MODEL: native by the API, prompted in the text, none not at all.',
    values: ['native', 'prompted', 'none'],
    defaultDoc: 'native until the endpoint refuses it',
  }),
  llmFirstTokenTimeout: integer({
    env: 'LLM_FIRST_TOKEN_TIMEOUT_S',
    doc: 'Seconds until the first token of an answer; signs of life from the endpoint extend it.',
    min: 1,
    defaultDoc: '900 for a model on the local network, else 120',
  }),
  llmIdleTimeout: integer({
    env: 'LLM_IDLE_TIMEOUT_S',
    doc: 'Seconds that an answer which has begun may pause.',
    min: 1,
    defaultDoc: '180 for a model on the local network, else 90',
  }),
  llmLoadingTimeout: integer({
    env: 'LLM_LOADING_TIMEOUT_S',
    doc: 'Seconds that a model which the endpoint is loading is waited for.',
    min: 0,
    defaultDoc: '600 for a model on the local network, else 300',
  }),
  llmGguf: file({
    env: 'LLM_GGUF',
    mustExist: true,
    doc: 'A model as a GGUF file, which Trunkline runs itself, instead of LLM_GATEWAY_URL.',
    defaultDoc:
      'a .gguf file in the folder models of TRUNKLINE_HOME, if there is one and LLM_GATEWAY_URL is not set',
  }),
  llmGgufContext: integer({
    env: 'LLM_GGUF_CONTEXT',
    doc: 'Tokens that one conversation with the model of the file may have; more take more memory.',
    min: 256,
    defaultDoc: 'as many as fit into memory, 16384 at most',
  }),
  llmGgufSequences: integer({
    env: 'LLM_GGUF_SEQUENCES',
    doc: 'Conversations that the model of the file keeps in its cache and answers at once; each takes memory for its context.',
    min: 1,
    max: 16,
    default: 2,
  }),
  llmGgufThreads: integer({
    env: 'LLM_GGUF_THREADS',
    doc: 'Threads that the model of the file computes with.',
    min: 1,
    max: 512,
    defaultDoc: 'the cores that are made for it',
  }),
  llmGgufIdleMinutes: integer({
    env: 'LLM_GGUF_IDLE_MINUTES',
    doc: 'Minutes without a request after which the model of the file leaves the memory; the next request loads it again. 0: never.',
    min: 0,
    default: 30,
  }),
  llmGgufPort: integer({
    env: 'LLM_GGUF_PORT',
    doc: 'Port on this machine at which the services reach the model of the file; a service that runs alone uses the model of another one of the same TRUNKLINE_HOME there. 0 takes any.',
    min: 0,
    max: 65_535,
    default: 7868,
  }),
});

export const homeOptions = group('Data', {
  trunklineHome: directory({
    env: 'TRUNKLINE_HOME',
    doc: 'Where the services keep their data, each in a folder of its own.',
    default: defaultHome,
  }),
  trunklineOpen: toggle({
    env: 'TRUNKLINE_OPEN',
    doc: "Everybody who reaches a service may configure it and approve what its agents do, without the operator's key. Only for a throw-away machine.",
    default: false,
  }),
  auditRetentionDays: integer({
    env: 'AUDIT_RETENTION_DAYS',
    doc: 'Days that entries of the audit log of all services (audit.db in TRUNKLINE_HOME) are kept.',
    min: 1,
    default: 365,
  }),
  quotaMb: integer({
    env: 'QUOTA_MB',
    doc: 'Megabytes that each person, or all who are nobody known together, may keep of each of these: tasks of a service (at the agent with conversations, memories, notes, issues and inbox), files, chats and reports of research; and what they send to the switchboard, and upload to voice, in a day. The operator has no limit. 0: nobody has.',
    min: 0,
    default: 1024,
  }),
  secretsKey: text({
    env: keyVariables.key,
    secret: true,
    doc: 'Key that opens the stored secrets (secrets.db in TRUNKLINE_HOME): at least 32 random characters.',
    defaultDoc: 'the key in TRUNKLINE_SECRETS_KEY_FILE',
  }),
  secretsKeyFile: file({
    env: keyVariables.file,
    doc: 'File with that key; created with the first secret.',
    defaultDoc: 'secrets-key in TRUNKLINE_HOME',
  }),
  secretsKeyring: toggle({
    env: keyVariables.keyring,
    doc: "Keeps that key in the system's keyring instead (secret-tool on Linux, security on macOS).",
    default: false,
  }),
  noBrowser: toggle({
    env: 'TRUNKLINE_NO_BROWSER',
    flag: '--no-open',
    doc: 'Only print the link that signs the operator in; do not open it in the browser of this desktop.',
    default: false,
  }),
});

/** Where people sign in with an account that they have elsewhere. */
export const oidcOptions = group('Sign-in', {
  oidcIssuer: text({
    env: 'OIDC_ISSUER',
    doc: 'OpenID Connect provider at which people sign in to the pages: its issuer, such as https://id.example.com/realms/home. The callback to register there is /operator/oidc/callback of each service.',
    defaultDoc: 'none',
    check: isIssuer,
    expected:
      'an https address without a query (http only on this machine), not that of the discovery document',
  }),
  oidcClientId: text({ env: 'OIDC_CLIENT_ID', doc: 'Client id of Trunkline at the provider.' }),
  oidcClientSecret: text({
    env: 'OIDC_CLIENT_SECRET',
    secret: true,
    doc: 'Secret of that client; none for a public client.',
  }),
  oidcName: text({
    env: 'OIDC_NAME',
    doc: 'What the button calls the provider: "Sign in with ...".',
    default: 'single sign-on',
  }),
  oidcRole: choice({
    env: 'OIDC_ROLE',
    doc: 'Role of people who come for the first time.',
    values: ['member', 'guest'],
    ignoreCase: true,
    defaultDoc: 'none: they are refused until the operator has added them',
  }),
  oidcRoleClaim: text({
    env: 'OIDC_ROLE_CLAIM',
    doc: 'Claim with the groups of a person. If set, OIDC_ROLES decides about the role at each sign-in; who is in none of its groups gets OIDC_ROLE, or is refused.',
  }),
  oidcRoles: list({
    env: 'OIDC_ROLES',
    doc: 'Roles that groups of the claim give, such as admins=operator,staff=member.',
    default: [],
    defaultDoc: 'none',
    check: (entry) => /^.+=(operator|member|guest)$/.test(entry),
    expected: 'a group, = and operator, member or guest',
  }),
});

/** Without TLS others could read and change what goes to the provider. */
function isIssuer(issuer: string): boolean {
  const url = URL.parse(issuer);
  if (url === null || url.pathname.includes('/.well-known/') || url.username !== '') return false;
  if (url.search !== '' || url.hash !== '') return false;
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && /^(127\.[\d.]+|\[::1\]|localhost)$/.test(url.hostname))
  );
}

export const logOptions = group('Logging', {
  logLevel: choice({
    env: 'LOG_LEVEL',
    doc: 'The least important messages that are still logged.',
    values: LOG_LEVELS,
    ignoreCase: true,
    default: 'INFO',
  }),
});

export const pairingOptions = group('Chat and mail', {
  pairing: choice({
    env: 'PAIRING',
    doc: 'Whether senders on chat and mail surfaces whom nobody has listed must be paired by the operator: required, or off (everybody who can write to a surface may use its agents).',
    values: ['required', 'off'],
    default: 'required',
  }),
});

/** Where webhooks of A2A tasks may go although the address is private. */
export const pushOptions = group('Webhooks', {
  pushAllowedHosts: list({
    env: 'PUSH_NOTIFICATION_ALLOWED_HOSTS',
    default: [],
    doc: 'Hosts that webhooks may go to without a check of their address.',
  }),
  pushAllowedCidrs: list({
    env: 'PUSH_NOTIFICATION_ALLOWED_CIDRS',
    default: [],
    check: isAddressRange,
    expected: 'an address range such as 10.0.0.0/8',
    doc: 'Private address ranges that webhooks may go to.',
  }),
});

/** Who may ask a service, and how much. */
export const hostOptions = group('Callers', {
  allowedHosts: list({
    env: 'ALLOWED_HOSTS',
    doc: 'Names of the internet under which the service answers while it has no key, such as that of a proxy; addresses, names of the local network and the host of its public address need not be listed.',
    default: [],
  }),
  trustedProxies: list({
    env: 'TRUSTED_PROXIES',
    doc: 'Addresses of proxies in front of the service, whose X-Forwarded-For header then says who a request came from, for limits.',
    default: [],
    defaultDoc: 'none',
    check: (proxy) => isIP(proxy) !== 0 || isAddressRange(proxy),
    expected: 'an address such as 10.0.0.2 or a range such as 10.0.0.0/8',
  }),
  requestLimit: integer({
    env: 'REQUEST_LIMIT',
    doc: 'Requests that one caller (a known one, else an address) may make in a minute; more are answered with 429. 0 turns it off.',
    min: 0,
    default: 30_000,
  }),
});

/** What the guarded fetch may reach although it is private. */
export const fetchOptions = group('Fetching', {
  fetchAllowedHosts: list({
    env: 'FETCH_ALLOWED_HOSTS',
    doc: 'Hosts that pages and agents may be fetched from although their address is private.',
    default: [],
  }),
  fetchAllowedCidrs: list({
    env: 'FETCH_ALLOWED_CIDRS',
    doc: 'Address ranges that may be fetched from although they are private.',
    default: [],
    check: isAddressRange,
    expected: 'an address range such as 10.0.0.0/8',
  }),
});

/** How programs run that a model, a plugin or a configuration chose. */
export const sandboxOptions = group('Sandbox', {
  sandbox: choice({
    env: 'TRUNKLINE_SANDBOX',
    doc: 'Commands, MCP servers, coding agents and plugins: auto runs them in a sandbox where the system has one (bubblewrap) and warns where not, require refuses to run them without, off never uses one.',
    values: ['auto', 'require', 'off'],
    ignoreCase: true,
    default: 'auto',
  }),
  sandboxHosts: list({
    env: 'TRUNKLINE_SANDBOX_HOSTS',
    doc: 'Hosts that commands of agents may reach from the sandbox, such as registry.example.com, *.example.com or db.example.com:5432; * opens the whole network.',
    default: [],
    defaultDoc: 'none',
  }),
  sandboxMemoryMb: integer({
    env: 'TRUNKLINE_SANDBOX_MEMORY_MB',
    doc: 'Memory that one program in the sandbox may use with all that it starts, in MB.',
    default: 2048,
    min: 64,
  }),
  sandboxImage: text({
    env: 'SANDBOX_IMAGE',
    doc: 'Image of podman or docker in which programs run where bubblewrap is missing. It must be on this machine: it is never pulled.',
  }),
});

/** Tracing is off until both keys are set. */
export const tracingOptions = group('Tracing', {
  tracePublicKey: text({ env: 'TRACE_PUBLIC_KEY', doc: 'Public key of a Langfuse-compatible endpoint.' }),
  traceSecretKey: text({ env: 'TRACE_SECRET_KEY', secret: true, doc: 'Secret key of that endpoint.' }),
  traceHost: url({
    env: ['TRACE_HOST', 'TRACE_URL'],
    doc: 'Address that traces are sent to.',
    default: 'http://127.0.0.1:3001',
  }),
});

export const natsOptions = group('NATS', {
  natsUrl: list({
    env: 'NATS_URL',
    doc: 'NATS servers, for several switchboards on one bus.',
    defaultDoc: 'the embedded bus',
    check: isNatsServer,
    expected: 'a server such as nats://host:4222',
  }),
  natsUser: text({ env: 'NATS_USER', doc: 'User at the NATS servers.' }),
  natsPassword: text({ env: 'NATS_PASSWORD', secret: true, doc: 'Password of that user.' }),
  natsToken: text({ env: 'NATS_TOKEN', secret: true, doc: 'Token, instead of user and password.' }),
  natsCreds: file({
    env: 'NATS_CREDS',
    mustExist: true,
    doc: 'Credentials file, instead of user and password.',
  }),
  natsTlsCa: file({
    env: 'NATS_TLS_CA',
    mustExist: true,
    doc: 'Certificate of the authority that signed the servers.',
  }),
  natsTlsCert: file({ env: 'NATS_TLS_CERT', mustExist: true, doc: 'Certificate of this client.' }),
  natsTlsKey: file({ env: 'NATS_TLS_KEY', mustExist: true, doc: 'Private key of this client.' }),
});

function isNatsServer(server: string): boolean {
  const address = server.includes('://') ? server : `nats://${server}`;
  return (
    /^(nats|tls|ws|wss):\/\//i.test(address) && URL.canParse(address) && new URL(address).hostname !== ''
  );
}
