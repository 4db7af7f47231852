/** For frameworks that show an agent as something that is asked and answers, and hide its tasks. */
export const lacksTasks = {
  resubscribe: 'it has no call to follow a task',
  cancel: 'it has no call to cancel a task',
  push: 'it has no call for webhooks',
  errors: 'it has no call that reads a task',
};

/** Those who were told to wait, until somebody says "go". */
let waiting = Promise.withResolvers();

/**
 * What the model of a framework's agent answers, in pieces: "Peer says: TEXT", or what it got of a file. Told to "wait",
 * it does so until it is aborted or somebody says "go".
 */
export async function answerOf({ text, file }, signal) {
  if (text === 'wait') {
    const aborted = Promise.withResolvers();
    signal?.addEventListener('abort', () => aborted.reject(signal.reason), { once: true });
    await Promise.race([waiting.promise, aborted.promise]);
  }
  if (text === 'go') {
    waiting.resolve();
    waiting = Promise.withResolvers();
  }
  return file ? ['Peer got ', `${file.name} ${file.mediaType} ${file.bytes}`] : ['Peer says: ', text];
}

/** Reads an event of 0.3: a task, a status, an artifact or a message. */
export function replyOf(event) {
  const artifacts = event.artifacts ?? (event.artifact ? [event.artifact] : []);
  return {
    text:
      artifacts.map(({ parts }) => plainText(parts)).join('') ||
      plainText(event.status?.message?.parts ?? event.parts),
    state: event.status?.state,
    taskId: event.taskId ?? event.id,
    contextId: event.contextId,
  };
}

export const plainText = (parts = []) =>
  parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');

/** Listens on a free port; `url` is known before the application is. */
export async function listen(createServer) {
  let handle;
  const http = createServer((request, response) => handle(request, response));
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address();
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    use(handler) {
      handle = handler;
    },
    stop() {
      http.closeAllConnections();
      http.close();
    },
  };
}
