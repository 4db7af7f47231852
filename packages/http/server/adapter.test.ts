import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** Reports each use of a class that makes Node load the whole of its fetch. */
const watch = `for (const name of ['Headers', 'Request', 'Response']) {
  const { [name]: value } = globalThis;
  const get = () => {
    console.log(name);
    return value;
  };
  Object.defineProperty(globalThis, name, { configurable: true, get });
}`;

it("loads the server kit without Node's fetch, which comes with the first request", () => {
  const kit = join(import.meta.dirname, '../index.ts');
  const program = `${watch}\nconst { serve } = await import(${JSON.stringify(kit)});
    const options = { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger: console };
    const app = { fetch: () => new Response('here') };
    const server = await serve(app, options);
    console.log('started');
    console.log(await (await fetch(server.url)).text());
    await server.stop();`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    // Vitest cannot interrupt it.
    timeout: 300_000,
  });
  const [first, ...rest] = output.trim().split('\n');
  expect(first).toBe('started');
  expect(rest).toContain('Response');
  expect(rest.at(-1)).toBe('here');
});
