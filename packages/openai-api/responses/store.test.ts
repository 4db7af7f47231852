import { join } from 'node:path';
import { accountPrincipal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ResponseEntry, ResponseStore } from './store.ts';
import type { ResponseBody } from './writer.ts';

const principal = accountPrincipal('ada', 'member');
const id = 'resp_1';
const said: ResponseBody['output'] = [
  { id: 'msg_1', type: 'message', status: 'incomplete', role: 'assistant', content: 'One, ' },
];

describe('two services that share a response', () => {
  const home = temporaryDirectory();
  let stores: ResponseStore[];
  /** What each has told and the other has not taken yet. */
  let told: ResponseEntry[][];
  let files = 0;
  beforeEach(async () => {
    told = [[], []];
    stores = told.map((entries) => {
      files += 1;
      const store = new ResponseStore(join(home.path, `${files}.db`));
      store.onWrite(async (entry) => void entries.push(entry));
      return store;
    });
    await save(0, 'in_progress');
    exchange(0);
  });
  afterEach(() => {
    for (const store of stores) store.close();
  });

  afterAll(() => home.remove());

  const at = (index: number) => stores[index] as ResponseStore;
  const save = (index: number, status: ResponseBody['status'], output: ResponseBody['output'] = []) =>
    at(index).save({ id, status, output }, { input: [], principal, isOutside: true });
  /** The others take what these have told, one after the other. */
  const exchange = (...from: number[]) => {
    for (const index of from) for (const entry of told[index]?.splice(0) ?? []) at(1 - index).take(entry);
  };
  const found = () => stores.map((store) => store.find(id, principal)?.body);

  it.each([
    ['cancelled', 'cancelled', 'cancelled'],
    ['completed', 'cancelled', 'cancelled'],
    ['completed', 'failed', 'completed'],
  ] as const)(
    'have the same one when it is %s at one and %s at the other at once',
    async (one, other, end) => {
      await save(0, one, said);
      at(1).end(id, other);
      exchange(0, 1);
      const [here, there] = found();
      expect(here).toEqual(there);
      expect(here?.status).toBe(end);
      // What was said before it was cancelled is known only where it was made.
      if (one === end) expect(here?.output).toEqual(said);
    },
  );

  it('have the same one when the end of the other is there before it ends here', async () => {
    at(1).end(id, 'cancelled');
    exchange(1);
    await save(0, 'cancelled', said);
    exchange(0);
    const [here, there] = found();
    expect(here).toEqual(there);
    expect(here).toMatchObject({ status: 'cancelled', output: said });
  });

  it('keep it deleted when word of its end comes late', async () => {
    at(1).end(id, 'cancelled');
    at(1).delete(id);
    await save(0, 'cancelled', said);
    exchange(0, 1);
    expect(found()).toEqual([undefined, undefined]);
  });
});
