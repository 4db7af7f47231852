import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { AppEnv } from '../app/context.ts';
import { startApp, type TestCaller } from '../fixtures/test-kit.ts';
import { validate } from '../validation/validate.ts';
import { listRoutes } from './list-routes.ts';

it('lists every method and path once, those of mounted parts included, and no middleware', async () => {
  const { app } = await startApp((main) => {
    main.use('/api/*', (_c, next) => next());
    main.post('/api/x', validate('json', z.object({})), (c) => c.text('x'));
    main.on(['GET', 'PUT'], '/api/y/:id', (c) => c.text('y'));
    main.all('/any', (c) => c.text('any'));
    const part = new Hono<AppEnv<TestCaller>>();
    part.delete('/z', (c) => c.text('z'));
    main.route('/part', part);
  });
  const own = listRoutes(app).filter(({ path }) => !/^\/(healthz|openapi|docs|help)/.test(path));
  expect(own).toEqual([
    { method: 'POST', path: '/api/x' },
    { method: 'GET', path: '/api/y/:id' },
    { method: 'PUT', path: '/api/y/:id' },
    { method: 'ALL', path: '/any' },
    { method: 'DELETE', path: '/part/z' },
  ]);
});
