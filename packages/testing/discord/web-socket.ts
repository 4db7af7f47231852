import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** The server's end of a web socket: enough of the protocol for text messages of tests. */
export interface ServerSocket {
  send(message: unknown): void;
  /** Says goodbye with a code. */
  close(code: number): void;
  /** Cuts the line without a word. */
  cut(): void;
}

export interface SocketEvents {
  onMessage(message: unknown): void;
  onClose(): void;
}

const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Answers an upgrade and speaks JSON text frames from then on. */
export function acceptSocket(request: IncomingMessage, stream: Duplex, events: SocketEvents): ServerSocket {
  const key = `${request.headers['sec-websocket-key'] ?? ''}${KEY_SUFFIX}`;
  const accept = createHash('sha1').update(key).digest('base64');
  stream.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  let received = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let frame = takeFrame(received); frame !== undefined; frame = takeFrame(received)) {
      received = received.subarray(frame.size);
      if (frame.opcode === 1) events.onMessage(JSON.parse(frame.payload.toString('utf8')));
      if (frame.opcode === 8) stream.end(frameOf(8, frame.payload));
    }
  });
  // A client that died ends its half of the line without a word.
  stream.on('end', () => stream.end());
  stream.on('error', () => stream.destroy());
  stream.on('close', () => events.onClose());
  return {
    send: (message) => void stream.write(frameOf(1, Buffer.from(JSON.stringify(message)))),
    close: (code) => void stream.write(frameOf(8, Buffer.from([code >> 8, code & 255]))),
    cut: () => void stream.destroy(),
  };
}

function frameOf(opcode: number, payload: Buffer): Buffer {
  const head =
    payload.length < 126
      ? Buffer.from([0x80 | opcode, payload.length])
      : Buffer.from([0x80 | opcode, 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([head, payload]);
}

/** The first whole frame of a client, which is always masked; undefined until it is there. */
function takeFrame(data: Buffer): { opcode: number; payload: Buffer; size: number } | undefined {
  if (data.length < 6) return undefined;
  const short = data.readUInt8(1) & 127;
  const head = short === 126 ? 4 : 2;
  const length = short === 126 ? data.readUInt16BE(2) : short;
  const size = head + 4 + length;
  if (data.length < size) return undefined;
  const mask = data.subarray(head, head + 4);
  const payload = Buffer.from(
    data.subarray(head + 4, size).map((byte, index) => byte ^ (mask[index % 4] ?? 0)),
  );
  return { opcode: data.readUInt8(0) & 15, payload, size };
}
