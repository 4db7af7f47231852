import type { Hono } from 'hono';
import type { AppEnv } from '../app/context.ts';
import { escapeHtml, mountReadingAssets, readingPage } from '../reading/shell.ts';
import { type DocumentOptions, generateDocument, type ListedOperation, operationsOf } from './document.ts';
import type {
  ApiDocument,
  Operation,
  Parameter,
  ResponseDescription,
  Schema,
  SchemaOrReference,
} from './examples.ts';

const MAX_DEPTH = 6;

/** The machine-readable description at `/openapi.json` and the page for people at `/docs`. */
export function mountDocs<Caller>(app: Hono<AppEnv<Caller>>, options: DocumentOptions): void {
  let generated: Promise<ApiDocument> | undefined;
  const document = () => {
    generated ??= generateDocument(app, options);
    return generated;
  };
  app.get('/openapi.json', async () => Response.json(await document()));
  app.get('/docs', async (context) => renderPage(await document(), new URL(context.req.url).origin));
  mountReadingAssets(app);
}

/** Everything stands in the page and folds without a script; the script adds search, copying and trying a route. */
function renderPage(document: ApiDocument, origin: string): Response {
  const { title, version, description = '' } = document.info;
  const operations = operationsOf(document);
  const groups = (document.tags ?? []).map(({ name }) => ({
    name,
    listed: operations.filter(({ operation }) => operation.tags?.[0] === name),
  }));
  const side = groups.map(
    ({ name, listed }) =>
      `<details class="group"><summary>${escapeHtml(name)}</summary><ul>${listed.map(navigationItem).join('')}</ul></details>`,
  );
  const main = groups.map(
    ({ name, listed }) =>
      `<div class="group"><h2>${escapeHtml(name)}</h2>${listed.map((each) => section(each, document, origin)).join('')}</div>`,
  );
  return readingPage({
    title: `${title} API`,
    current: 'docs',
    side: `<form role="search" id="filter" hidden><input type="search" aria-label="Search routes" placeholder="Search routes  /"></form><details class="fold" open><summary>Contents</summary><nav aria-label="Routes">${side.join('')}</nav></details>`,
    main: `<h1>${escapeHtml(title)} API <small>${escapeHtml(version)}</small></h1>
<p>${escapeHtml(description)}</p>
<p class="note">${operations.length} routes. A browser that is signed in may try them here. Programs send a key as <code>Authorization: Bearer</code> or <code>X-API-Key</code>. For tools and client generators: <a href="/openapi.json">openapi.json</a>.</p>
<p class="note" id="none" hidden role="status">No route has these words.</p>
${main.join('')}`,
  });
}

function anchor({ method, path }: ListedOperation): string {
  return escapeHtml(`${method}-${path}`.replace(/[^A-Za-z0-9]+/g, '-'));
}

function methodLabel({ method }: ListedOperation): string {
  return `<b class="method ${method}">${method.toUpperCase()}</b>`;
}

function navigationItem(listed: ListedOperation): string {
  const words = listed.operation.summary ?? listed.path;
  return `<li><a href="#${anchor(listed)}" title="${escapeHtml(listed.path)}">${methodLabel(listed)} ${escapeHtml(words)}</a></li>`;
}

function section(listed: ListedOperation, document: ApiDocument, origin: string): string {
  const { operation, method, path } = listed;
  const { summary = '', description = '', security } = operation;
  return `<section id="${anchor(listed)}" class="op" data-method="${method}" data-path="${escapeHtml(path)}">
<details><summary>${methodLabel(listed)} <h3><code>${escapeHtml(path)}</code></h3><span class="what">${escapeHtml(summary)}</span></summary>
<div class="inner">${paragraph(description)}${paragraph(securityText(security))}
${parametersTable(operation, document)}
<div class="columns"><div>${bodies(operation, document)}${heading('Example')}${pre(curl(listed, origin))}</div>
<div>${successes(operation, document)}</div></div>
${refusals(operation)}</div></details>
</section>`;
}

function heading(words: string): string {
  return `<h4>${words}</h4>`;
}

function pre(text: string): string {
  return `<div class="pre"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>`;
}

function paragraph(text: string): string {
  return text === '' ? '' : `<p class="note">${escapeHtml(text)}</p>`;
}

function securityText(security: Operation['security']): string {
  if (security === undefined || security.length === 0) return '';
  const choices = security.map((choice) => Object.keys(choice).join(' and '));
  return `Key, where one is configured: ${choices.join(', or ')}.`;
}

function parametersTable(operation: Operation, document: ApiDocument): string {
  const rows = (operation.parameters as Parameter[]).map((parameter) => parameterRow(parameter, document));
  if (rows.length === 0) return '';
  return `${heading('Parameters')}<table><tr><th>Name</th><th>In</th><th>Type</th><th>What it is</th></tr>${rows.join('')}</table>`;
}

function parameterRow(parameter: Parameter, document: ApiDocument): string {
  const { name, in: place, required, description = '', example } = parameter;
  const type = schemaText(parameter.schema as Schema, document.components?.schemas ?? {});
  const notes = [description, example === undefined ? '' : `Example: ${plain(example)}`];
  const cells = [
    `<code>${escapeHtml(name)}</code>${required ? '' : ' (optional)'}`,
    escapeHtml(place),
    `<code>${escapeHtml(type)}</code>`,
    escapeHtml(notes.filter((note) => note !== '').join('. ')),
  ];
  return `<tr><td>${cells.join('</td><td>')}</td></tr>`;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function bodies(operation: Operation, document: ApiDocument): string {
  const body = operation.requestBody;
  if (body === undefined || '$ref' in body) return '';
  return Object.entries(body.content ?? {})
    .map(([media, { schema }]) => {
      const text = schemaText(schema, document.components?.schemas ?? {});
      return `${heading(`Body <span class="note">${escapeHtml(media)}</span>`)}${pre(text)}`;
    })
    .join('');
}

/** The request as a command: the example of each parameter and of the body. */
function curl({ method, path, operation }: ListedOperation, origin: string): string {
  const parameters = operation.parameters as Parameter[];
  const url = parameters
    .filter(({ in: place }) => place === 'path')
    .reduce(
      (made, { name, example }) => made.replace(`{${name}}`, encodeURIComponent(plain(example ?? name))),
      path,
    );
  const query = parameters
    .filter(({ in: place, example }) => place === 'query' && example !== undefined)
    .map(({ name, example }) => `${name}=${encodeURIComponent(plain(example))}`);
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}${quoted(origin + url + (query.length > 0 ? `?${query.join('&')}` : ''))}`,
  ];
  if ((operation.security ?? []).length > 0) lines.push(`-H "Authorization: Bearer $KEY"`);
  for (const { in: place, name, example } of parameters)
    if (place === 'header' && example !== undefined) lines.push(`-H ${quoted(`${name}: ${plain(example)}`)}`);
  const body = operation.requestBody;
  const [type, media] =
    body === undefined || '$ref' in body ? [] : (Object.entries(body.content ?? {})[0] ?? []);
  if (type === 'multipart/form-data')
    for (const [name, value] of Object.entries((media?.example ?? {}) as object))
      lines.push(`-F ${quoted(`${name}=${String(value).startsWith('(a') ? '@file' : plain(value)}`)}`);
  else if (type !== undefined)
    lines.push(
      `-H ${quoted(`Content-Type: ${type}`)}`,
      `-d ${quoted(JSON.stringify(media?.example, null, 2))}`,
    );
  return lines.join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function successes(operation: Operation, document: ApiDocument): string {
  const found = Object.entries(operation.responses ?? {}).filter(([status]) => Number(status) < 400);
  return found
    .map(([status, response]) => {
      const { content = {} } = response as ResponseDescription;
      const parts = Object.entries(content).map(([media, { schema, example }]) => {
        const shape = schema === undefined ? '' : pre(schemaText(schema, document.components?.schemas ?? {}));
        const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
        return `<p class="note">${escapeHtml(media)}</p>${shape}${example === undefined ? '' : pre(text)}`;
      });
      return `${heading(`Answer <code>${escapeHtml(status)}</code>`)}${parts.join('') || '<p class="note">Nothing in the body.</p>'}`;
    })
    .join('');
}

function refusals(operation: Operation): string {
  const found = Object.entries(operation.responses ?? {}).filter(([status]) => Number(status) >= 400);
  if (found.length === 0) return '';
  const rows = found.map(([status, response]) => {
    const { description } = response as ResponseDescription;
    return `<tr><td><code>${escapeHtml(status)}</code></td><td>${escapeHtml(description)}</td></tr>`;
  });
  const [, first] = found[0] as [string, ResponseDescription];
  const example = Object.values(first.content ?? {})[0]?.example;
  return `${heading('Refusals')}<table>${rows.join('')}</table>${example === undefined ? '' : pre(JSON.stringify(example, null, 2))}`;
}

type Schemas = Readonly<Record<string, SchemaOrReference>>;

/** A schema as a type that people can read: `{ level: "silent" | "brief", note?: string }`. */
export function schemaText(schema: SchemaOrReference | undefined, schemas: Schemas, depth = 0): string {
  if (schema === undefined || depth > MAX_DEPTH) return 'any';
  if ('$ref' in schema) return referenceText(schema.$ref, schemas, depth);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((choice) => schemaText(choice, schemas, depth)).join(' | ');
  if (schema.allOf !== undefined)
    return schema.allOf.map((part) => schemaText(part, schemas, depth)).join(' & ');
  if (schema.type === 'array') return `${wrapped(schemaText(schema.items, schemas, depth))}[]`;
  if (schema.type === 'object' || schema.properties !== undefined) return objectText(schema, schemas, depth);
  return typeText(schema);
}

function referenceText(reference: string, schemas: Schemas, depth: number): string {
  const name = reference.split('/').pop() ?? '';
  return schemas[name] === undefined ? name : schemaText(schemas[name], schemas, depth + 1);
}

function objectText(schema: Schema, schemas: Schemas, depth: number): string {
  const indent = '  '.repeat(depth + 1);
  const lines = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const optional = schema.required?.includes(name) === true ? '' : '?';
    const note = 'description' in property && property.description ? `  // ${property.description}` : '';
    return `${indent}${name}${optional}: ${schemaText(property, schemas, depth + 1)}${note}`;
  });
  const { additionalProperties: rest } = schema;
  if (typeof rest === 'object') lines.push(`${indent}[name]: ${schemaText(rest, schemas, depth + 1)}`);
  return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`;
}

function typeText(schema: Schema): string {
  const names = [schema.type ?? 'any'].flat().join(' | ');
  return [names, schema.format && `(${schema.format})`, limitsText(schema)].filter(Boolean).join(' ');
}

function limitsText(schema: Schema): string {
  const low = schema.minimum ?? schema.minLength;
  const high = schema.maximum ?? schema.maxLength;
  const isOpen = (high ?? Number.MAX_SAFE_INTEGER) >= Number.MAX_SAFE_INTEGER;
  if (isOpen) return low === undefined || low <= Number.MIN_SAFE_INTEGER ? '' : `from ${low}`;
  return low === undefined || low <= Number.MIN_SAFE_INTEGER ? `up to ${high}` : `${low} to ${high}`;
}

function wrapped(text: string): string {
  return text.includes(' | ') && !text.startsWith('{') ? `(${text})` : text;
}
