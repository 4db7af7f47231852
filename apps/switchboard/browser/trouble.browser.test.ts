import {
  checkLooks,
  describeWithBrowser,
  FakeSignal,
  natsMissing,
  phoneWindow,
  startNatsServer,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';
import { consolePages } from './pages.suite.ts';

describeWithBrowser('what goes wrong', () => {
  let signal: FakeSignal;
  const pages = consolePages(async () => {
    signal = await FakeSignal.start('+4930123');
    const env = {
      MESSENGER_URL: signal.url,
      MESSENGER_NUMBER: '+4930123',
      SWITCHBOARD_DELIVERY_RETRY_MS: '10',
    };
    return { env };
  });
  afterAll(() => signal.stop());

  it('deliveries that failed are shown with the reason, and tried again', async () => {
    signal.server.fail('/v2/send', { status: 400, body: { error: 'Unregistered user' } });
    await pages
      .service()
      .call('/publish', { topic: 'message.outbound.messenger.+491', payload: { content: 'Good day' } });
    const opened = await pages.open('/app#/deliveries');
    const { page } = opened;
    const row = page.getByRole('main').getByRole('listitem').filter({ hasText: 'messenger' });
    await row.getByText('Failed', { exact: true }).waitFor();
    // What the message is about, not the number within its topic.
    await row.getByRole('link', { name: 'Its messages' }).waitFor();
    expect(await row.innerText()).not.toContain('message.outbound');
    await row.getByText(/Unregistered user/).waitFor();
    await checkLooks(opened);
    await row.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Nothing has failed').waitFor();
    await page.getByLabel('Show').selectOption('sent');
    await row.getByText('Sent', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Dead letters' }).click();
    await page.getByText('No dead letters').waitFor();
  });

  it('dead letters are shown with the handler that failed, and handed to it again', async () => {
    const opened = await pages.open('/healthz');
    const { page } = opened;
    const message = {
      id: 'm',
      topic: 'cron.tea',
      timestamp: 1,
      correlationId: 'c',
      payload: { content: 'Tea' },
    };
    const letter = { id: 'd-1', durable: 'router-1', attempts: 5, error: 'It broke', buriedAt: 1, message };
    let letters = [letter];
    // No handler of the switchboard fails for good, so the bus is spoken for here.
    await page.route('**/api/dead-letters', (route) => route.fulfill({ json: { data: { letters } } }));
    await page.route('**/api/dead-letters/d-1/replay', async (route) => {
      letters = [];
      await route.fulfill({ status: 202, json: { success: true } });
    });
    await page.goto(`${pages.service().url}/app#/deliveries/dead-letters`);
    await page.getByText('It broke').waitFor();
    await page.getByText('router-1').waitFor();
    await checkLooks(opened);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No dead letters').waitFor();
  });

  it('drops and alerts are told as they come, and are there after a reload', async () => {
    const opened = await pages.open('/app#/alerts/drops');
    const { page } = opened;
    await page.getByText('Nothing was dropped').waitFor();
    await page.locator('#content').getByText('Live', { exact: true }).waitFor();
    const request = { topic: 'agent.skill.request', payload: { skillHint: 'juggle', content: 'Juggle' } };
    for (let count = 0; count < 10; count += 1) await pages.service().call('/publish', request);
    const rows = page.getByRole('listitem').filter({ hasText: 'dispatch.dropped.no_skill' });
    await expect.poll(() => rows.count()).toBe(10);
    await page.reload();
    await expect.poll(() => rows.count()).toBe(10);
    await checkLooks(opened);
    await page.getByRole('tab', { name: 'Alerts' }).click();
    await page.getByText(/10/).first().waitFor();
    await checkLooks(opened);
  });

  it('incidents are reported and resolved, on a phone too', async () => {
    const opened = await pages.open('/app#/incidents', { viewport: phoneWindow, hasTouch: true });
    const { page } = opened;
    await page.getByRole('button', { name: 'Report an incident' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Title').fill('The crane is stuck');
    await form.getByLabel('Severity').selectOption({ label: 'high' });
    await form.getByRole('button', { name: 'Report it' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'The crane is stuck' });
    await row.getByText('Open', { exact: true }).waitFor();
    await checkLooks(opened);
    await row.getByRole('button', { name: 'Resolve' }).click();
    await form.getByLabel('Resolution').fill('Oiled it');
    await form.getByRole('button', { name: 'Resolve it' }).click();
    await row.getByText('Resolved', { exact: true }).waitFor();
    await row.getByText('Oiled it').waitFor();
  });

  it.skipIf(natsMissing !== undefined)(
    'a NATS that is away is told on the Nodes page, with what to do, until it is back',
    async () => {
      const nats = await startNatsServer();
      await nats.kill();
      const board = await startSwitchboard({ env: { NATS_URL: nats.url } });
      try {
        const opened = await pages.open('/healthz');
        const { page } = opened;
        await page.goto(`${board.url}/app#/nodes`);
        const alert = page.getByRole('alert').filter({ hasText: 'Messages cannot be stored.' });
        await alert.getByText(`127.0.0.1:${nats.port} cannot be reached`).waitFor();
        await alert.getByText('Start the NATS servers, or correct NATS_URL').waitFor();
        await page.getByText('NATS does not tell about its servers now.').waitFor();
        await checkLooks(opened);
        await nats.start();
        await alert.waitFor({ state: 'detached' });
        const servers = page.getByRole('table', { name: 'Servers' });
        await servers.getByText('Up to date').waitFor();
        await page.getByRole('table', { name: 'Stored data' }).getByText('bus-journal').waitFor();
        await checkLooks(opened);
      } finally {
        await board.stop();
        await nats.stop();
      }
    },
  );
});
