import type { Hono } from 'hono';
import type { AppEnv } from '../app/context.ts';
import {
  type ApiDocument,
  type DocumentOptions,
  generateDocument,
  type ListedOperation,
  type Operation,
  operationsOf,
  type Parameter,
  type ResponseDescription,
  type Schema,
  type SchemaOrReference,
} from './document.ts';

/** The page needs nothing but its own style sheet. */
const DOCS_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

const MAX_DEPTH = 6;

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The whole page as plain HTML: no script, one style sheet of the service itself. */
function renderPage(document: ApiDocument): string {
  const { title, version, description = '' } = document.info;
  const operations = operationsOf(document);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} API</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<header>
<h1>${escapeHtml(title)} <small>${escapeHtml(version)}</small></h1>
<p>${escapeHtml(description)}</p>
<p><a href="/openapi.json">openapi.json</a></p>
</header>
<nav aria-label="Routes"><ul>${operations.map(navigationItem).join('')}</ul></nav>
<main>${operations.map((listed) => section(listed, document)).join('')}</main>
</body>
</html>
`;
}

function anchor({ method, path }: ListedOperation): string {
  return escapeHtml(`${method}-${path}`.replace(/[^A-Za-z0-9]+/g, '-'));
}

function routeTitle({ method, path }: ListedOperation): string {
  return `<b class="method">${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code>`;
}

function navigationItem(listed: ListedOperation): string {
  return `<li><a href="#${anchor(listed)}">${routeTitle(listed)}</a></li>`;
}

function section(listed: ListedOperation, document: ApiDocument): string {
  const { summary = '', description = '', security } = listed.operation;
  return `<section id="${anchor(listed)}">
<h2>${routeTitle(listed)}</h2>
${paragraph(summary)}${paragraph(description)}${paragraph(securityText(security))}
${parametersTable(listed.operation, document)}${bodies(listed.operation, document)}${responses(listed.operation, document)}
</section>`;
}

function paragraph(text: string): string {
  return text === '' ? '' : `<p>${escapeHtml(text)}</p>`;
}

function securityText(security: Operation['security']): string {
  if (security === undefined || security.length === 0) return '';
  const choices = security.map((choice) => Object.keys(choice).join(' and '));
  return `Key, where one is configured: ${choices.join(', or ')}.`;
}

function parametersTable(operation: Operation, document: ApiDocument): string {
  const rows = (operation.parameters ?? []).map((parameter) =>
    parameterRow(resolve(parameter, document), document),
  );
  if (rows.length === 0) return '';
  return `<h3>Parameters</h3><table><tr><th>Name</th><th>In</th><th>Type</th><th>Notes</th></tr>${rows.join('')}</table>`;
}

/** The generator moves a parameter that is used twice into the components. */
function resolve(parameter: NonNullable<Operation['parameters']>[number], document: ApiDocument): Parameter {
  if (!('$ref' in parameter)) return parameter;
  const name = parameter.$ref.split('/').pop() ?? '';
  const found = document.components?.parameters?.[name];
  return found === undefined || '$ref' in found ? { name, in: 'query' } : found;
}

function parameterRow(parameter: Parameter, document: ApiDocument): string {
  const { name, in: place, required, description = '' } = parameter;
  const cells = [`<code>${escapeHtml(name)}</code>${required ? '' : ' (optional)'}`, escapeHtml(place)];
  const type = schemaText(parameter.schema as Schema, document.components?.schemas ?? {});
  return `<tr><td>${[...cells, `<code>${escapeHtml(type)}</code>`, escapeHtml(description)].join('</td><td>')}</td></tr>`;
}

function bodies(operation: Operation, document: ApiDocument): string {
  const body = operation.requestBody;
  if (body === undefined || '$ref' in body) return '';
  return `<h3>Body</h3>${contentText(body.content, document)}`;
}

function responses(operation: Operation, document: ApiDocument): string {
  const entries = Object.entries(operation.responses ?? {});
  const items = entries.map(([status, response]) => {
    const { description = '', content } = response as ResponseDescription;
    return `<dt>${escapeHtml(status)}</dt><dd>${escapeHtml(description)}${contentText(content, document)}</dd>`;
  });
  return items.length === 0 ? '' : `<h3>Answers</h3><dl>${items.join('')}</dl>`;
}

function contentText(content: ResponseDescription['content'], document: ApiDocument): string {
  const schemas = document.components?.schemas ?? {};
  return Object.entries(content ?? {})
    .map(([media, { schema, example }]) => {
      const text = example === undefined ? schemaText(schema, schemas) : JSON.stringify(example, null, 2);
      return `<p class="media">${escapeHtml(media)}</p><pre><code>${escapeHtml(text)}</code></pre>`;
    })
    .join('');
}

/** Text that is safe between tags and inside quoted attributes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
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

/** The look of `/docs`: the colours of the product, in light and dark. */
const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #faf8f4; --raised: #ffffff; --ink: #1c1b19; --soft: #5f5b54; --line: #e4dfd5; --accent: #9a5410;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #14151a; --raised: #1c1e25; --ink: #ece8e0; --soft: #a9a59c; --line: #2b2e38; --accent: #f0a04b; }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 24px; max-width: 1100px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
h1 { font-size: 28px; line-height: 1.25; margin: 0; }
h1 small { font-size: 14px; font-weight: 400; color: var(--soft); }
h2 { font-size: 20px; line-height: 1.25; margin: 0 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 14px; margin: 16px 0 4px; color: var(--soft); }
a { color: var(--accent); }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code, pre, .method { font-family: ui-monospace, monospace; font-size: 14px; }
.method { color: var(--accent); }
nav ul { list-style: none; margin: 16px 0; padding: 0; columns: 400px; column-gap: 24px; }
nav li { break-inside: avoid; overflow-wrap: anywhere; padding-left: 16px; text-indent: -16px; }
nav a { text-decoration: none; color: inherit; }
nav a:hover { text-decoration: underline; }
section { margin: 16px 0; padding: 16px; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; }
section:target { border-color: var(--accent); }
section p { margin: 4px 0; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: 4px 8px 4px 0; border-bottom: 1px solid var(--line); }
pre { margin: 4px 0; padding: 8px 12px; overflow-x: auto; background: var(--paper); border-radius: 8px; }
dl { display: grid; grid-template-columns: 48px 1fr; gap: 4px 8px; margin: 0; }
dt { font-weight: 600; }
dd { margin: 0; min-width: 0; }
.media { color: var(--soft); font-size: 12px; }
`;

/** The machine-readable description at `/openapi.json` and the page for people at `/docs`. */
export function mountDocs<Caller>(app: Hono<AppEnv<Caller>>, options: DocumentOptions): void {
  let generated: Promise<ApiDocument> | undefined;
  const document = () => {
    generated ??= generateDocument(app, options);
    return generated;
  };
  app.get('/openapi.json', async () => Response.json(await document()));
  app.get('/docs', async () => {
    const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': DOCS_POLICY };
    return new Response(renderPage(await document()), { headers });
  });
  app.get('/docs/style.css', () => {
    const headers = { 'content-type': 'text/css; charset=utf-8', 'cache-control': 'no-cache' };
    return new Response(STYLE, { headers });
  });
}
