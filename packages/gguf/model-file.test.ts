import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { findModelFile, withModelFile } from './index.ts';

const home = temporaryDirectory();
afterAll(() => home.remove());
const unset = { trunklineHome: home.path, llmGatewayUrl: undefined, llmModel: undefined, llmGguf: undefined };

it('leaves a file in the home alone where models.yaml names an endpoint, unless LLM_GGUF names it', () => {
  mkdirSync(join(home.path, 'models'));
  const file = join(home.path, 'models', 'tiny.gguf');
  writeFileSync(file, '');
  expect(findModelFile(unset)).toBe(file);
  const chat = 'roles: {chat: {model: large, url: "http://provider/v1", api_key: key}}';
  writeFileSync(join(home.path, 'models.yaml'), chat);
  expect(findModelFile(unset)).toBeUndefined();
  expect(findModelFile({ ...unset, llmGguf: file })).toBe(file);
});

it('leaves a service alone that names an endpoint of its own', () => {
  const settings = { llmGatewayUrl: 'http://file', llmApiKey: 'key', llmModel: 'tiny', llmFastModel: 'tiny' };
  const own = { llmUrl: 'http://voice', llmModel: 'large' };
  expect(withModelFile(own, settings)).toEqual(own);
  const none = { llmUrl: undefined, llmModel: 'large' };
  expect(withModelFile(none, settings)).toEqual({ ...none, ...settings, withoutModelFile: none });
  expect(withModelFile(none, undefined)).toEqual(none);
});
