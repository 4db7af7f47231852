import {
  checkLooks,
  describeWithBrowser,
  desktopWindow,
  type ModelServer,
  phoneWindow,
  startModelServer,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment, post } from '../fixtures/start-agent.ts';
import { agentPages } from './pages.suite.ts';

describeWithBrowser('the console', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer();
    const env = { ...modelEnvironment(model.url), PUSH_NOTIFICATION_ALLOWED_HOSTS: '127.0.0.1' };
    return { env, config: 'knowledge: { embeddings: "off" }' };
  });
  afterAll(() => model.stop());

  it('shows activity and the inbox as they happen', async () => {
    const opened = await pages.open('/app');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor();
    await page.getByText('Nothing has run on its own yet').waitFor();
    model.enqueue('I saw the bell.');
    await pages
      .agent()
      .fetch('/api/inbox', post({ text: 'The door bell rang', priority: 'now', source: 'door' }));
    const feed = page.getByRole('list', { name: 'Activity' });
    await feed.getByText('The door bell rang').first().waitFor();
    await feed.getByText('I saw the bell.').waitFor();
    await page.reload();
    await feed.getByText('I saw the bell.').waitFor();
    await page.getByLabel('Show').selectOption('schedules');
    await expect.poll(() => feed.getByText('I saw the bell.').count()).toBe(0);
    await page.getByRole('tab', { name: 'Inbox' }).click();
    await page.getByLabel('Message').fill('Buy milk');
    await page.getByRole('button', { name: 'Put it into the inbox' }).click();
    const item = page.getByRole('listitem').filter({ hasText: 'Buy milk' });
    await item.getByText('Waits: next').waitFor();
    await checkLooks(opened);
    await item.getByRole('button', { name: 'Mark as read' }).click();
    await item.getByText('Delivered').waitFor();
  });

  it('shows tasks live, filters them, answers and stops them, with their events and webhooks', async () => {
    const opened = await pages.open('/app#/tasks', { viewport: { width: 1400, height: 900 } });
    const { page } = opened;
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which city?' } }] });
    const { id } = await pages.agent().send('Book a hotel');
    const hook = `${model.url}/hook`;
    await pages
      .agent()
      .rpc('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: { url: hook } });
    const line = page.getByRole('listitem').filter({ hasText: 'Book a hotel' });
    await line.getByText('Asks you').waitFor();
    // The same word as in the list of chats.
    await line.getByText('Agent', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Book a hotel' }).click();
    const detail = page.getByRole('complementary', { name: 'Task' });
    model.enqueue('Booked in Bern.');
    await detail.getByLabel('Your answer').fill('Bern');
    await detail.getByRole('button', { name: 'Send the answer' }).click();
    await detail.getByText('Booked in Bern.').first().waitFor();
    await detail.getByText('input-required: Which city?').waitFor();
    await detail.getByRole('tab', { name: 'Webhooks' }).click();
    await detail.getByText('refused').first().waitFor();
    await checkLooks(opened);
    await page.keyboard.press('Escape');
    await detail.waitFor({ state: 'detached' });
    model.enqueue({ fault: 'stall', text: 'Hm' });
    const stalled = pages.agent().send('Think for ever');
    await page.getByRole('link', { name: 'Think for ever' }).click();
    await detail.getByRole('button', { name: 'Stop the task' }).click();
    await detail.getByText('Stopped', { exact: true }).waitFor();
    model.release();
    await stalled;
    await page.getByLabel('State').selectOption('completed');
    await expect.poll(() => page.getByRole('link', { name: 'Think for ever' }).count()).toBe(0);
    await page.getByLabel('State').selectOption('rejected');
    await page.getByText('No task is in this state').waitFor();
  });

  it('plans, runs, rests and cancels schedules', async () => {
    const opened = await pages.open('/app#/schedules');
    const { page } = opened;
    await page.getByText('Nothing is scheduled').waitFor();
    await page.getByLabel('What to do').fill('Say good morning');
    // From the kind of repetition to its time by keyboard alone; the times that follow are shown before it is saved.
    await page.getByLabel('Repeats').focus();
    await page.keyboard.type('Monday');
    await page.keyboard.press('Tab');
    await page.keyboard.type('0815AM');
    const ahead = page.getByRole('group', { name: 'When' }).getByRole('list', { name: 'Next runs' });
    await expect.poll(() => ahead.getByText('08:15').count()).toBe(3);
    await page.getByLabel('At', { exact: true }).fill('09:00');
    await expect.poll(() => ahead.getByText('09:00').count()).toBe(3);
    const own = await page.evaluate(() => new Intl.DateTimeFormat().resolvedOptions().timeZone);
    const zone = page.getByLabel('Time zone');
    expect(await zone.locator('option:checked').textContent()).toBe(own);
    await zone.selectOption('Asia/Tokyo');
    await page.getByRole('button', { name: 'Schedule it' }).click();
    const job = page.getByRole('listitem').filter({ hasText: 'Say good morning' });
    await expect
      .poll(() => job.getByRole('list', { name: 'Next runs' }).getByRole('listitem').count())
      .toBe(5);
    await job.getByText('Monday to Friday at 09:00 Asia/Tokyo').waitFor();
    await job.getByText('Monday to Friday at 09:00', { exact: true }).focus();
    await page.getByRole('tooltip', { name: 'Cron: 0 9 * * 1-5' }).waitFor();
    await checkLooks(opened);
    model.enqueue('Good morning.');
    await job.getByRole('button', { name: 'Run now' }).click();
    await expect
      .poll(async () => JSON.stringify(await (await pages.agent().fetch('/api/activity')).json()))
      .toContain('Good morning.');
    await job.getByRole('button', { name: 'Pause' }).click();
    await job.getByText('Paused').waitFor();
    await job.getByRole('button', { name: 'Resume' }).click();
    await job.getByText('Scheduled').waitFor();
    await job.getByRole('button', { name: 'Cancel the schedule' }).click();
    await page.getByText('Nothing is scheduled').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await job.getByText('Monday to Friday at 09:00', { exact: true }).waitFor();
    await page.getByLabel('What to do').fill('Whenever');
    await page.getByLabel('Repeats').selectOption('Cron fields');
    await page.getByLabel('Cron', { exact: true }).fill('0 25 * * *');
    await page.getByText('The hour field "25" of "0 25 * * *" is not valid').waitFor();
    await page.getByLabel('Repeats').selectOption('Once');
    await page.getByLabel('At', { exact: true }).fill('2020-01-01T09:00');
    await page.getByText('This time has passed: choose a later one.').waitFor();
    await page.getByLabel('Repeats').selectOption('Every week');
    // On a phone all days stand in one row.
    await page.setViewportSize(phoneWindow);
    const rows = await page
      .getByRole('group', { name: 'Days' })
      .getByRole('button')
      .evaluateAll((days) => new Set(days.map((day) => day.getBoundingClientRect().top)).size);
    expect(rows).toBe(1);
    await page.setViewportSize(desktopWindow);
    await page.getByRole('button', { name: 'Thursday' }).click();
    await page.getByRole('button', { name: 'Schedule it' }).click();
    await page.getByText('Every Monday and Thursday at 09:00').waitFor();
  });

  it('moves cards between the states of the board, by mouse and by keyboard', async () => {
    const opened = await pages.open('/app#/board', { viewport: { width: 1700, height: 900 } });
    const { page } = opened;
    const column = (name: string) => page.getByRole('region', { name, exact: true });
    await page.getByRole('button', { name: 'New issue' }).click();
    await page.getByRole('dialog').getByLabel('Title').fill('Paint the fence');
    await page.getByRole('button', { name: 'Put it on the board' }).click();
    const card = (name: string) => column(name).getByRole('button', { name: /Paint the fence/ });
    await card('Open').waitFor();
    await card('Open').dragTo(column('Blocked'));
    await card('Blocked').waitFor();
    await card('Blocked').focus();
    await page.keyboard.press('ArrowLeft');
    await card('In progress').waitFor();
    await page.keyboard.press('ArrowLeft');
    await card('Open').waitFor();
    await checkLooks(opened);
    await pages.agent().fetch('/api/beads/issues', post({ title: 'From elsewhere' }));
    await column('Open').getByText('From elsewhere').waitFor();
    await card('Open').click();
    await page.getByRole('dialog').getByLabel('Priority').selectOption('Most urgent');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await card('Open').getByText('Most urgent').waitFor();
    await card('Open').click();
    await page.getByRole('dialog').getByLabel('State').selectOption('Closed');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await card('Closed').waitFor();
  });

  it('shows goals and drops them', async () => {
    const opened = await pages.open('/app#/goals');
    const { page } = opened;
    await page.getByText('No goals yet').waitFor();
    const goal = { condition: 'The answer is polite', verifier: { type: 'llm' } };
    model.enqueue(
      { toolCalls: [{ name: 'set_goal', arguments: goal }] },
      'Please.',
      '{"reached": true, "reason": "It says please."}',
    );
    await pages.agent().send('Be polite');
    await page.getByText('The answer is polite').waitFor();
    await checkLooks(opened);
    await page.getByRole('button', { name: 'Drop' }).click();
    await page.getByText('No goals yet').waitFor();
  });
});
