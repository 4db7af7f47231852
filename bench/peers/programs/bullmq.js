// Takes an HTTP request, adds a job to a queue, waits for the worker (in another process) and answers: bullmq.js http|worker.
// GET /ID says in which state the job is.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Queue, QueueEvents, Worker } from 'bullmq';

const [role] = process.argv.slice(2);
const connection = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
if (role === 'worker') {
  // One job at a time is the default; eight, as many as the bench asks at once.
  const worker = new Worker('work', async (job) => job.data, { connection, concurrency: 8 });
  await worker.waitUntilReady();
  console.log('ready: worker');
} else {
  const queue = new Queue('work', { connection });
  const events = new QueueEvents('work', { connection });
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
  const reply = async (request) => {
    if (request.method === 'GET') return { state: await queue.getJobState(request.url.slice(1)) };
    const job = await queue.add('work', await json(request));
    return { ...(await job.waitUntilFinished(events, 10_000)), id: job.id };
  };
  const server = createServer((request, response) => {
    reply(request).then(
      (answer) => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer)),
      (error) => response.destroy(error),
    );
  });
  server.listen(0, '127.0.0.1', () => console.log(`ready: http://127.0.0.1:${server.address().port}`));
}
