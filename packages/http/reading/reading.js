// What a script adds to /docs and /help: search while typing, copying, and trying a route with this browser's session.
const page = document.body.dataset.page;
const search = document.querySelector('.side input[type=search]');

// On a phone the text comes first.
if (matchMedia('(width < 56rem)').matches) document.querySelector('.fold').open = false;

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches('input, textarea');
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search?.focus();
    search?.select();
  }
});

for (const box of document.querySelectorAll('.pre')) addCopy(box);

function addCopy(box) {
  const button = element('button', { type: 'button', className: 'copy', textContent: 'Copy' });
  const code = box.querySelector('code');
  const tell = (words) => {
    button.textContent = words;
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  };
  // Without leave, or on a page that is not secure, the text is at least marked.
  const mark = () => {
    getSelection()?.selectAllChildren(code);
    tell('Press Ctrl+C');
  };
  button.addEventListener('click', () => {
    const writing = navigator.clipboard?.writeText(code.textContent);
    if (writing === undefined) mark();
    else writing.then(() => tell('Copied'), mark);
  });
  box.append(button);
}

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function startDocs() {
  const form = document.getElementById('filter');
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const first = document.querySelector('.op:not([hidden])');
    if (first !== null) location.hash = `#${first.id}`;
  });
  search.addEventListener('input', () => filterRoutes(search.value));
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    search.value = '';
    filterRoutes('');
  });
  addEventListener('hashchange', openTarget);
  openTarget();
  for (const route of document.querySelectorAll('.op')) {
    const details = route.querySelector('details');
    details.addEventListener('toggle', () => {
      if (details.open) addTrial(route);
    });
    if (details.open) addTrial(route);
  }
}

function openTarget() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id === '' ? null : document.getElementById(id);
  for (const link of document.querySelectorAll('.side li a')) {
    if (link.hash !== '' && link.hash === location.hash) {
      link.setAttribute('aria-current', 'true');
      link.closest('details').open = true;
    } else link.removeAttribute('aria-current');
  }
  if (target === null) return;
  const details = target.querySelector('details');
  if (details !== null) details.open = true;
  target.scrollIntoView();
}

/** Shows the routes that have every word in method, path, summary or group. */
function filterRoutes(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const group of document.querySelectorAll('main .group')) {
    const title = group.querySelector('h2').textContent;
    let inGroup = 0;
    for (const route of group.querySelectorAll('.op')) {
      const known = `${title} ${route.querySelector('summary').textContent}`.toLowerCase();
      route.hidden = !words.every((word) => known.includes(word));
      if (!route.hidden) inGroup += 1;
    }
    group.hidden = inGroup === 0;
    shown += inGroup;
  }
  for (const group of document.querySelectorAll('.side .group')) {
    const entries = [...group.querySelectorAll('li')];
    for (const entry of entries)
      entry.hidden = document.getElementById(entry.firstChild.hash.slice(1))?.hidden === true;
    group.hidden = entries.every((entry) => entry.hidden);
    group.open = words.length > 0 && !group.hidden;
  }
  document.getElementById('none').hidden = shown > 0;
}

let description;

function addTrial(route) {
  if (route.querySelector('.try') !== null) return;
  const form = element('form', { className: 'try' }, [element('h4', { textContent: 'Try it' })]);
  route.querySelector('.inner').append(form);
  description ??= fetch('/openapi.json').then((response) => response.json());
  description.then(
    ({ paths }) => fillTrial(form, route.dataset, paths),
    (error) => form.append(`Cannot read /openapi.json: ${error.message}`),
  );
}

/** A form for the route: its parameters and its body, filled with the example. */
function fillTrial(form, { method, path }, paths) {
  const operation = paths[path]?.[method];
  const [type, media] = Object.entries(operation?.requestBody?.content ?? {})[0] ?? [];
  if (operation === undefined || type === 'multipart/form-data') {
    form.append(element('p', { className: 'note', textContent: 'It takes a file: use the command above.' }));
    return;
  }
  const inputs = operation.parameters.map((parameter) => ({ parameter, input: field(parameter) }));
  const body =
    media && element('textarea', { value: JSON.stringify(media.example, null, 2), spellcheck: false });
  if (body) form.append(element('label', {}, [element('span', { textContent: 'Body' }), body]));
  const state = element('span', { className: 'note', role: 'status' });
  const send = element('button', { className: 'primary', textContent: 'Send' });
  form.append(element('div', { className: 'row' }, [send, state]));
  const output = element('code');
  const box = element('div', { className: 'pre', hidden: true }, [element('pre', { tabIndex: 0 }, [output])]);
  addCopy(box);
  form.append(box);
  let running;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    running?.abort();
    running = new AbortController();
    void sendTrial({ method, path, inputs, body, type, state, output, box, signal: running.signal });
  });

  function field(parameter) {
    const { name, in: place, example, required } = parameter;
    const input = element('input', { value: place === 'path' || required ? (example ?? '') : '' });
    input.placeholder = example === undefined ? '' : String(example);
    form.append(element('label', {}, [element('span', { textContent: `${name} (${place})` }), input]));
    return input;
  }
}

const LONGEST = 100_000;

async function sendTrial({ method, path, inputs, body, type, state, output, box, signal }) {
  let url = path;
  const query = new URLSearchParams();
  const headers = {};
  for (const { parameter, input } of inputs) {
    const { name, in: place } = parameter;
    if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value !== '' && place === 'query') query.set(name, input.value);
    else if (input.value !== '') headers[name] = input.value;
  }
  if (query.size > 0) url += `?${query}`;
  if (body) headers['content-type'] = type;
  box.hidden = false;
  output.textContent = '';
  state.textContent = 'Sending…';
  const startedAt = performance.now();
  try {
    const response = await fetch(url, {
      method: method.toUpperCase(),
      headers,
      signal,
      ...(body && { body: body.value }),
    });
    state.textContent = `${response.status} ${response.statusText} after ${Math.round(performance.now() - startedAt)} ms`;
    await show(response, output);
  } catch (error) {
    if (!signal.aborted) state.textContent = `Not sent: ${error.message}`;
  }
}

/** Shows a stream as it comes, and JSON indented. */
async function show(response, output) {
  const isJson = response.headers.get('content-type')?.includes('json');
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (!isJson) output.textContent = text;
    if (text.length > LONGEST) break;
  }
  try {
    output.textContent = isJson ? JSON.stringify(JSON.parse(text), null, 2) : text;
  } catch {
    output.textContent = text;
  }
}

/** Results take the place of the text while something is typed; Enter opens the page of all results. */
function startHelp() {
  const main = document.getElementById('main');
  const text = [...main.childNodes];
  let latest = 0;
  search?.addEventListener('input', () => {
    latest += 1;
    const mine = latest;
    const words = search.value.trim();
    if (words === '') main.replaceChildren(...text);
    else
      findInHelp(words).then(
        (found) => mine === latest && main.replaceChildren(...found),
        (error) => mine === latest && main.replaceChildren(`Cannot search: ${error.message}`),
      );
  });
}

async function findInHelp(words) {
  const response = await fetch(`/help?q=${encodeURIComponent(words)}`);
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  return page.getElementById('main')?.childNodes ?? [`The service answered ${response.status}.`];
}

if (page === 'docs') startDocs();
else startHelp();
