// Run as a child: clients that call a server, speak and hear; told by messages what to do.

import { loadWrtc } from '../../apps/voice/media/wrtc-peer.ts';

const wrtc = await loadWrtc();

export type Order =
  | { kind: 'connect'; port: number; count: number }
  | { kind: 'heard' }
  | { kind: 'hang-up' }
  | { kind: 'cycle'; port: number; count: number; atOnce: number };

/** Samples that were played so far, and those of them that had to be made up. */
export interface Heard {
  samples: number;
  concealed: number;
}

type Client = Awaited<ReturnType<typeof connect>>;
let clients: Client[] = [];

process.on('message', (order: Order) => {
  obey(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function obey(order: Order): Promise<object> {
  switch (order.kind) {
    case 'connect':
      clients = await Promise.all(Array.from({ length: order.count }, () => connect(order.port)));
      return {};
    case 'heard':
      return await heardByAll();
    case 'hang-up':
      for (const client of clients.splice(0)) client.hangUp();
      return {};
    case 'cycle':
      await cycle(order);
      return {};
  }
}

async function cycle({
  port,
  count,
  atOnce,
}: {
  port: number;
  count: number;
  atOnce: number;
}): Promise<void> {
  let left = count;
  const lane = async () => {
    for (; left > 0; left -= 1) (await connect(port)).hangUp();
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

async function connect(port: number) {
  const connection = new wrtc.RTCPeerConnection();
  const source = new wrtc.nonstandard.RTCAudioSource();
  const { receiver } = connection.addTransceiver(source.createTrack(), { direction: 'sendrecv' });
  connection.createDataChannel('_', { negotiated: true, id: 1023 });
  const opened = new Promise((resolve) => {
    connection.addEventListener('datachannel', resolve);
  });
  const stop = speak((samples) => source.onData({ samples, sampleRate: 48_000 }));
  const sink = new wrtc.nonstandard.RTCAudioSink(receiver.track);
  await connection.setLocalDescription(await connection.createOffer());
  while (connection.iceGatheringState !== 'complete') await pause(5);
  const body = JSON.stringify({ sdp: connection.localDescription?.sdp });
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
  const { sdp } = (await response.json()) as { sdp: string };
  await connection.setRemoteDescription({ type: 'answer', sdp });
  await opened;
  const hangUp = () => {
    stop();
    sink.stop();
    connection.close();
  };
  return { connection, hangUp };
}

/** A tone, 10 ms at a time, in step with the clock. */
function speak(send: (samples: Int16Array) => void): () => void {
  const begun = performance.now();
  const samples = Int16Array.from({ length: 480 }, (_, index) => 8000 * Math.sin((2 * Math.PI * index) / 96));
  let sent = 0;
  const timer = setInterval(() => {
    for (; sent * 10 < performance.now() - begun; sent += 1) send(samples);
  }, 10);
  return () => clearInterval(timer);
}

async function heardByAll(): Promise<Heard> {
  const total: Heard = { samples: 0, concealed: 0 };
  for (const { connection } of clients) {
    const report = await connection.getStats();
    report.forEach((entry: { type: string; totalSamplesReceived?: number; concealedSamples?: number }) => {
      if (entry.type !== 'inbound-rtp') return;
      total.samples += entry.totalSamplesReceived ?? 0;
      total.concealed += entry.concealedSamples ?? 0;
    });
  }
  return total;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
