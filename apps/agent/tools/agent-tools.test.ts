import { join } from 'node:path';
import { createModelGateway, defineTool } from '@trunkline/llm';
import { runTurn } from '@trunkline/loop';
import { temporaryDirectory } from '@trunkline/testing';
import { createRunCommand } from '@trunkline/tools';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LocalBackend } from '../scheduler/local-backend.ts';
import { type AgentStores, openStores } from '../stores/stores.ts';
import { createAgentTools } from './agent-tools.ts';

let home = temporaryDirectory();
let stores: AgentStores;
let schedules: LocalBackend;
const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
const delegate = { name: 'scout', description: 'looks', ask: async () => 'seen' };
const peer = { name: 'bob', url: 'http://bob:1', token: undefined };

beforeEach(async () => {
  home = temporaryDirectory();
  const at = (name: string) => join(home.path, name);
  const places = {
    knowledge: at('k.db'),
    notes: at('n.json'),
    beads: at('b.db'),
    goals: at('g'),
    audit: at('a'),
    inbox: at('i.db'),
  };
  stores = await openStores({ places, logger });
  schedules = new LocalBackend({
    directory: at('s'),
    agentName: 'ada',
    invoke: async () => undefined,
    logger,
  });
});
afterEach(async () => {
  await schedules.stop();
  await stores.close();
  home.remove();
});

describe('the tools of the agent', () => {
  it('are those of the contract when everything is there', () => {
    const run = createRunCommand({ directory: home.path, path: '' });
    const tools = createAgentTools({
      stores,
      schedules,
      workspace: home.path,
      approved: [run],
      peers: [peer],
      delegates: [delegate],
    });
    expect(tools.map(({ name }) => name)).toEqual([
      ...['current_time', 'calculator', 'web_search', 'fetch_url'],
      ...['notes_list', 'notes_read', 'notes_write', 'notes_revert'],
      ...['memory_ingest', 'memory_recall', 'memory_list', 'memory_stats', 'daily_log'],
      ...['beads_create', 'beads_list', 'beads_update', 'beads_close', 'check_inbox'],
      ...['schedule_task', 'list_schedules', 'cancel_schedule'],
      ...['list_dir', 'read_file', 'find_files', 'search_files', 'write_file', 'edit_file', 'run_command'],
      ...['delegate_to', 'peer_list', 'peer_consult'],
    ]);
  });

  it('are absent with their backend, and when disabled [A092]', () => {
    const names = createAgentTools({ stores: {}, disabled: ['calculator'] }).map(({ name }) => name);
    expect(names).toEqual(['current_time', 'web_search', 'fetch_url']);
  });

  it('cannot be replaced from outside', () => {
    const imposter = defineTool({
      name: 'calculator',
      description: 'evil',
      input: z.object({}),
      execute: async () => '',
    });
    const tools = createAgentTools({ stores: {}, more: [imposter] });
    expect(
      tools.filter(({ name }) => name === 'calculator').map(({ description }) => description),
    ).not.toContain('evil');
  });

  it.each([
    ['what time is it in Tokyo?', 'current_time', /Asia\/Tokyo/],
    ['what is 12 * 12?', 'calculator', /144/],
    ['remember that my bike is blue', 'memory_ingest', /Stored chunk 1/],
    ['remind me every day at 9 to stretch', 'schedule_task', /Scheduled job/],
  ])('work with the demo model: %s', async (content, name, result) => {
    const ends = [];
    for await (const event of runTurn({
      model: createModelGateway({}).languageModel(),
      instructions: '',
      tools: createAgentTools({ stores, schedules }),
      messages: [{ role: 'user', content }],
      sessionId: 's',
      limits: { steps: 5, toolTimeoutMs: 5000, turnTimeoutMs: 10_000 },
    })) {
      if (event.type === 'tool-end') ends.push(event);
    }
    expect(ends).toMatchObject([{ name, failed: false, result: expect.stringMatching(result) }]);
  });
});
