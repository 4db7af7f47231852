import {
  choice,
  directory,
  file,
  group,
  homeOptions,
  hostOptions,
  integer,
  list,
  logOptions,
  modelOptions,
  natsOptions,
  type OptionsOf,
  type OptionTable,
  sandboxOptions,
  text,
  toggle,
  url,
} from '@trunkline/config';

/** Each surface declares its own settings. */
export const coreOptions = {
  port: integer({
    env: 'SWITCHBOARD_PORT',
    flag: '--port',
    default: 3000,
    min: 0,
    max: 65_535,
    doc: 'Port of the switchboard.',
  }),
  host: text({
    env: 'SWITCHBOARD_HOST',
    flag: '--host',
    default: '127.0.0.1',
    doc: 'Address to listen on.',
  }),
  apiKey: text({
    env: 'SWITCHBOARD_API_KEY',
    secret: true,
    doc: 'Key of the operator, as X-API-Key or Bearer. Needed to listen beyond loopback; more keys stand in keys.yaml of the workspace.',
  }),
  workspaceDirectory: directory({
    env: 'WORKSPACE_DIR',
    doc: 'Holds the workspace: agents, channels, routes, keys. Seeded with an example when it does not exist.',
    defaultDoc: 'switchboard/workspace under TRUNKLINE_HOME',
  }),
  agentsFile: file({
    env: 'AGENTS_YAML',
    doc: 'The registry of external agents.',
    defaultDoc: 'agents.yaml in WORKSPACE_DIR',
  }),
  publicUrl: url({
    env: 'SWITCHBOARD_PUBLIC_URL',
    doc: 'Address under which others reach the service; stands in its agent card.',
    defaultDoc: 'the address it listens on',
  }),
  disableAgentRuntime: toggle({
    env: 'DISABLE_AGENT_RUNTIME',
    default: false,
    anyValue: true,
    doc: 'Any value leaves the agents of agents/ out.',
  }),
  disableSkillBroker: toggle({
    env: 'DISABLE_SKILL_BROKER',
    default: false,
    anyValue: true,
    doc: 'Any value leaves the external agents of agents.yaml and agents.d/ out.',
  }),
  defaultSkill: text({
    env: 'ROUTER_DEFAULT_SKILL',
    doc: 'The skill for messages that no other rule fits.',
    defaultDoc: 'the first skill of the helm role',
  }),
  skillTimeoutMs: integer({
    env: 'SWITCHBOARD_SKILL_TIMEOUT_MS',
    default: 600_000,
    min: 100,
    doc: 'Milliseconds that one skill may take.',
  }),
  executorConcurrency: integer({
    env: 'SWITCHBOARD_EXECUTOR_CONCURRENCY',
    default: 8,
    min: 1,
    max: 64,
    doc: 'Requests that one agent works on at once. Seven times as many wait in memory, the rest in the journal; callers that wait for their answer get 503 then.',
  }),
  executorWaitMs: integer({
    env: 'SWITCHBOARD_EXECUTOR_WAIT_MS',
    default: 86_400_000,
    min: 1000,
    doc: 'Milliseconds that accepted work waits after a restart for an MCP server or an agent that has not answered yet; then it is a dead letter, which can be replayed.',
  }),
  delegationWaitMs: integer({
    env: 'SWITCHBOARD_DELEGATION_WAIT_MS',
    default: 60_000,
    min: 100,
    doc: 'Milliseconds that work which another agent waits for waits itself for an agent that has all hands full.',
  }),
  taskPollMs: integer({
    env: 'SWITCHBOARD_TASK_POLL_MS',
    default: 30_000,
    min: 100,
    doc: 'Milliseconds between two questions after a task that an agent of another service works on.',
  }),
  shell: choice({
    env: 'SWITCHBOARD_SHELL',
    values: ['ask', 'on', 'off'],
    default: 'ask',
    doc: 'Commands of the agents in this process whose file has runCommand: true: ask has the operator approve each, on runs them unasked, off gives no agent any.',
  }),
  vectorUrl: url({
    env: 'VECTOR_URL',
    doc: 'A Qdrant server that keeps conversations and documents for agents to search; without it there is no such search.',
  }),
  vectorApiKey: text({ env: 'VECTOR_API_KEY', secret: true, doc: 'Key of the server at VECTOR_URL.' }),
  vectorSize: integer({
    env: 'VECTOR_SIZE',
    default: 768,
    min: 1,
    max: 65_536,
    doc: 'Numbers in one vector of EMBED_MODEL.',
  }),
  embedModel: text({
    env: 'EMBED_MODEL',
    default: 'nomic-embed-text',
    doc: 'The embedding model of LLM_GATEWAY_URL that makes the vectors.',
  }),
  allowUnsigned: toggle({
    env: 'SWITCHBOARD_ALLOW_UNSIGNED',
    default: false,
    doc: 'Takes webhooks without a signature while their secret is unset; only where nobody else reaches the port.',
  }),
  deliveryRetryMs: integer({
    env: 'SWITCHBOARD_DELIVERY_RETRY_MS',
    default: 1000,
    min: 1,
    doc: 'Milliseconds before a message that could not be sent out is tried again; later pauses are longer, up to 60 times this.',
  }),
  takeoverMs: integer({
    env: 'SWITCHBOARD_TAKEOVER_MS',
    default: 15_000,
    min: 1000,
    doc: 'With NATS_URL: milliseconds without a sign of life after which another switchboard takes over what one was working on.',
  }),
  leaseMs: integer({
    env: 'SWITCHBOARD_LEASE_MS',
    default: 5000,
    min: 1000,
    doc: 'With NATS_URL: milliseconds after which another switchboard fires the schedules when the one that leads is gone.',
  }),
  ...group('Projects', {
    projectRegistryUrl: url({
      env: 'PROJECT_REGISTRY_URL',
      doc: 'Address of the list of projects, asked for every 5 minutes.',
      defaultDoc: 'the list that PROJECT_SYNC_ORG or PROJECT_SYNC_BASE compiles here',
    }),
    projectSyncOrganisation: text({
      env: 'PROJECT_SYNC_ORG',
      doc: 'Organisation at the code host: its repositories with the topic PROJECT_SYNC_TOPIC are projects; looked through every 15 minutes.',
    }),
    projectSyncTopic: text({
      env: 'PROJECT_SYNC_TOPIC',
      default: 'trunkline',
      doc: 'The topic that marks a repository as a project.',
    }),
    projectSyncBase: list({
      env: 'PROJECT_SYNC_BASE',
      default: [],
      check: (name) => /^[\w.-]+\/[\w.-]+$/.test(name),
      expected: 'owner/repo',
      doc: 'Repositories that are projects in any case.',
    }),
  }),
  ...group('Operator', {
    operatorTopic: text({
      env: 'OPERATOR_TOPIC',
      default: 'message.outbound.chat.alert',
      doc: 'Where messages to the operator go, such as message.outbound.chat.dm.user.<id> or message.outbound.messenger.<number>.',
    }),
  }),
  ...modelOptions,
  ...natsOptions,
  ...hostOptions,
  ...homeOptions,
  ...sandboxOptions,
  ...logOptions,
};

export type CoreOptions = OptionsOf<OptionTable<typeof coreOptions>>;
