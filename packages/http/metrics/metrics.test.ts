import { describe, expect, it } from 'vitest';
import { startApp } from '../fixtures/test-kit.ts';
import { createMetrics } from './metrics.ts';

describe('createMetrics', () => {
  it('keeps the figures of two services in one process apart', async () => {
    const first = createMetrics({ prefix: 'my-agent 1' });
    const second = createMetrics({ prefix: 'my-agent 1' });
    first.counter('calls_total', 'Calls.', ['model']).inc({ model: 'demo' }, 2);
    second.counter('calls_total', 'Calls.', ['model']).inc({ model: 'demo' });
    expect(await first.render()).toContain('my_agent_1_calls_total{model="demo"} 2');
    expect(await second.render()).toContain('my_agent_1_calls_total{model="demo"} 1');
  });

  it('makes gauges and histograms', async () => {
    const metrics = createMetrics({ prefix: '7up' });
    metrics.gauge('active', 'Active.').set(3);
    metrics.histogram('wait_seconds', 'Wait.', [], [1, 2]).observe(1.5);
    const text = await metrics.render();
    expect(text).toContain('_7up_active 3');
    expect(text).toContain('_7up_wait_seconds_bucket{le="2"} 1');
  });
});

describe('/metrics', () => {
  it('counts requests by route pattern, never by path', async () => {
    const metrics = createMetrics({ prefix: 'sample' });
    const server = await startApp((app) => app.get('/things/:id', (c) => c.text('x')), { metrics });
    for (const path of ['/things/1', '/things/2', '/missing-1', '/missing-2']) await fetch(server.url + path);
    const response = await fetch(`${server.url}/metrics`);
    const text = await response.text();
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain(
      'sample_http_request_duration_seconds_count{method="GET",route="/things/:id",status="200"} 2',
    );
    expect(text).not.toContain('things/1');
    expect(text).not.toContain('missing-1');
  });

  it('takes no label from the client', async () => {
    const metrics = createMetrics({ prefix: 'sample' });
    const server = await startApp(() => undefined, { metrics });
    await fetch(server.url, { method: 'PROPFIND' });
    const text = await metrics.render();
    expect(text).not.toContain('PROPFIND');
    expect(text).toContain('method="other"');
  });

  it('is not there for a service without metrics', async () => {
    const server = await startApp(() => undefined);
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
  });
});
